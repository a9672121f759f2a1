"""Numbers as people write them: whole numbers of the widths that messages have room for, and ports."""

from typing import Final

PORT_MAX: Final = 65535


def parse_whole_number(text: str, bits: int) -> int:
    """Parse a signed number of so many bits; the ValueError says why the text is none."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    try:
        number = int(text)
    except ValueError:
        raise ValueError(f"{text or repr(text)} is not a whole number") from None
    if not lowest <= number <= highest:
        raise ValueError(f"{text} is not a number from {lowest} to {highest}")
    return number


def parse_port(text: str, *, lowest: int = 0) -> int:
    """Parse a port; the ValueError says what is wrong with it. Port 0 stands for one that the system chooses."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a port: a port is a number from {lowest} to {PORT_MAX}")
    # Check the length first: Python refuses to read numbers of thousands of digits.
    if len(text.lstrip("0")) > len(str(PORT_MAX)) or int(text) > PORT_MAX:
        raise ValueError(f"port {text} is too large: ports go from {lowest} to {PORT_MAX}")
    if int(text) < lowest:
        raise ValueError(f"port {text} is too small: ports go from {lowest} to {PORT_MAX}")
    return int(text)
