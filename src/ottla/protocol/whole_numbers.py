"""Whole numbers, written out, of the widths that messages have room for; what does not fit is refused."""


def whole_number(text: str, bits: int) -> int:
    """A signed number of so many bits; ValueError says what it is instead."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{text or repr(text)} is not a whole number") from None
    if not lowest <= number <= highest:
        raise ValueError(f"{text} is not a number from {lowest} to {highest}")
    return number
