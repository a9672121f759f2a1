"""What the quorum needs of a log on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ottla.protocol.compression import Buffer


class MetadataLogStore(Protocol):
    """Offsets and epochs are in the batches already; the store keeps them as they are.

    `append` runs on the event loop; everything that may wait for the disk runs in threads. Proposals are appended one
    after the other, but `flush`, `read` and `remove_before` may run beside each other and beside an append.
    """

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def epoch_starts(self) -> Sequence[tuple[int, int]]:
        """Each leader epoch in the log and the offset where it begins."""

    def append(self, batches: Sequence[Buffer]) -> None:
        """Write whole batches at the end; durable after `flush`."""

    def flush(self) -> None:
        """Wait until everything appended is on the disk."""

    def read(self, from_offset: int, end_offset: int, max_bytes: int) -> Buffer:
        """Whole batches from the one that begins at `from_offset`, at least one, none beyond `end_offset`."""

    def truncate_to(self, offset: int) -> None:
        """Remove everything from an offset on, durably."""

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Empty the log; the next record gets this offset."""

    def remove_before(self, offset: int) -> int:
        """Remove what lies wholly before an offset, as far as the files allow; the new start offset."""

    def close(self) -> None:
        """Flush and release everything."""

    def abandon(self) -> None:
        """Release everything without writing: after a failed fsync, one that succeeds would prove nothing."""
