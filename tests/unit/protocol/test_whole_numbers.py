import pytest

from ottla.protocol.whole_numbers import whole_number


@pytest.mark.parametrize(("text", "bits"), [("-128", 8), ("127", 8), (" 5 ", 32), (str(2**63 - 1), 64)])
def test_a_number_that_fits_is_read(text: str, bits: int) -> None:
    assert whole_number(text, bits) == int(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [("128", "128 is not a number from -128 to 127"), ("x", "x is not a whole"), ("", "'' is not"), ("1.5", "1.5 is")],
)
def test_what_does_not_fit_is_named(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        whole_number(text, 8)
