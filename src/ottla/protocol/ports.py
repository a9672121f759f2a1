"""Ports as people write them."""

from typing import Final

PORT_MAX: Final = 65535


def parse_port(text: str, *, lowest: int = 0) -> int:
    """A port; ValueError says what is wrong with it. Where the system may choose, 0 is one as well."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a port: a port is a number from {lowest} to {PORT_MAX}")
    # By its length first: Python refuses to read numbers of thousands of digits.
    if len(text.lstrip("0")) > len(str(PORT_MAX)) or int(text) > PORT_MAX:
        raise ValueError(f"port {text} is too large: ports go from {lowest} to {PORT_MAX}")
    if int(text) < lowest:
        raise ValueError(f"port {text} is too small: ports go from {lowest} to {PORT_MAX}")
    return int(text)
