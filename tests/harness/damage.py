"""What can happen to a file behind a node's back, as named variants of its bytes."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ottla.protocol.record_batch import iterate_headers

PAGE_BYTES = 64
_FLIPS = (0x01, 0xFF)
_GARBAGE = bytes(range(1, 100))


class Damage(NamedTuple):
    """The file as it is found afterwards; None if it is gone. Everything before `position` is as it was."""

    name: str
    position: int
    data: bytes | None


def damages(data: bytes) -> Iterator[Damage]:
    """Every flipped byte, every length, every lost page, and what else befalls files."""
    for position in range(len(data)):
        for mask in _FLIPS:
            flipped = bytearray(data)
            flipped[position] ^= mask
            yield Damage(f"byte {position} ^ {mask:#04x}", position, bytes(flipped))
    for size in range(len(data)):
        yield Damage(f"cut to {size}", size, data[:size])
    for start in range(0, len(data), PAGE_BYTES):
        page = data[start : start + PAGE_BYTES]
        if page.strip(b"\0"):
            lost = data[:start] + bytes(len(page)) + data[start + PAGE_BYTES :]
            yield Damage(f"page at {start} lost", start, lost)
    yield Damage("garbage appended", len(data), data + _GARBAGE)
    yield Damage("zeros appended", len(data), data + bytes(PAGE_BYTES))
    yield Damage("replaced by garbage", 0, _GARBAGE)
    yield Damage("deleted", 0, None)


def batch_damages(data: bytes) -> Iterator[Damage]:
    """Whole batches that come twice, change places or are missing."""
    starts = [position for position, _ in iterate_headers(data)] + [len(data)]
    spans = list(pairwise(starts))
    for number, (start, end) in enumerate(spans):
        batch = data[start:end]
        yield Damage(f"batch {number} twice", end, data[:end] + batch + data[end:])
        yield Damage(f"batch {number} missing", start, data[:start] + data[end:])
        if number + 1 < len(spans):
            after = spans[number + 1][1]
            yield Damage(
                f"batches {number} and {number + 1} swapped",
                start,
                data[:start] + data[end:after] + batch + data[after:],
            )
