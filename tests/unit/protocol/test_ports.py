import pytest

from ottla.protocol.ports import parse_port


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
def test_an_error_names_the_value_and_the_range(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_port(text, lowest=1)
