import pytest

from ottla.protocol.written_numbers import parse_port, parse_whole_number


@pytest.mark.parametrize(("text", "bits"), [("-128", 8), ("127", 8), (" 5 ", 32), (str(2**63 - 1), 64)])
def test_a_number_that_fits_is_read(text: str, bits: int) -> None:
    assert parse_whole_number(text, bits) == int(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [("128", "128 is not a number from -128 to 127"), ("x", "x is not a whole"), ("", "'' is not"), ("1.5", "1.5 is")],
)
def test_what_does_not_fit_is_named(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_whole_number(text, 8)


def test_ports_are_numbers_of_sixteen_bits() -> None:
    assert [parse_port(text) for text in ("0", "9092", "65535", "009092")] == [0, 9092, 65535, 9092]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("65536", "port 65536 is too large: ports go from 1 to 65535"),
        ("9" * 5000, "is too large: ports go from 1 to 65535"),
        ("0", "port 0 is too small: ports go from 1 to 65535"),
        ("-1", "'-1' is not a port: a port is a number from 1 to 65535"),
        ("", "'' is not a port"),
        ("٣", "'٣' is not a port"),
    ],
)
def test_a_wrong_port_is_named_with_the_range(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_port(text, lowest=1)
