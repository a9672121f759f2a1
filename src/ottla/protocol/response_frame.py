"""A response as the buffers that go to the socket: its length, small parts joined, large ones as they are."""

import struct

from ottla.protocol.schema import Records

# Parts shorter than this are joined: a buffer of its own costs the kernel more than a copy costs us.
JOIN_BELOW_BYTES = 4096
_SIZE = struct.Struct(">i")


def is_large(parts: list[Records]) -> bool:
    """Whether a framed response is better handed on than joined with others."""
    return len(parts) > 1 or len(parts[0]) >= JOIN_BELOW_BYTES


def framed(parts: list[Records]) -> list[Records]:
    """The parts of one response with their length before them."""
    size = sum(map(len, parts))
    if size < JOIN_BELOW_BYTES:
        return [_SIZE.pack(size) + b"".join(parts)]
    joined: list[Records] = []
    small: list[Records] = [_SIZE.pack(size)]
    for part in parts:
        if len(part) < JOIN_BELOW_BYTES:
            small.append(part)
            continue
        if small:
            joined.append(b"".join(small))
            small = []
        joined.append(part)
    if small:
        joined.append(b"".join(small))
    return joined
