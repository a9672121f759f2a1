"""A metadata log in memory that, like a disk, forgets what was not flushed when it is reopened after a crash."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ottla.protocol.record_batch import BatchHeader, iterate_headers


class MemoryLogStore:
    """Give the same `disk` list to the next store to reopen it; batches enter it on flush."""

    def __init__(self, disk: list[bytes] | None = None, start_offset: int = 0) -> None:
        self.disk = [] if disk is None else disk
        self._batches = list(self.disk)
        self._start_offset = start_offset
        self.flush_count = 0
        self.flushed = threading.Semaphore(0)
        self.fail_next_flush: Exception | None = None
        self.is_closed = False
        self._lock = threading.Lock()

    @property
    def start_offset(self) -> int:
        return self._headers()[0].base_offset if self._batches else self._start_offset

    @property
    def end_offset(self) -> int:
        return self._headers()[-1].next_offset if self._batches else self._start_offset

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self._batches))

    def epoch_starts(self) -> Sequence[tuple[int, int]]:
        starts: dict[int, int] = {}
        for header in self._headers():
            starts.setdefault(header.leader_epoch, header.base_offset)
        return sorted(starts.items())

    def append(self, batches: Sequence[bytes]) -> None:
        with self._lock:
            for batch in batches:
                ((_, header),) = iterate_headers(batch)
                assert header.base_offset == self.end_offset
                self._batches.append(bytes(batch))

    def flush(self) -> None:
        if self.fail_next_flush is not None:
            raise self.fail_next_flush
        self.flush_count += 1
        with self._lock:
            self.disk[:] = self._batches
        self.flushed.release()

    def read(self, from_offset: int, end_offset: int, max_bytes: int) -> bytes:
        found = b""
        for batch, header in zip(self._batches, self._headers(), strict=True):
            is_wanted = header.base_offset >= from_offset and header.next_offset <= end_offset
            if is_wanted and (not found or len(found) + len(batch) <= max_bytes):
                found += batch
        return found

    def truncate_to(self, offset: int) -> None:
        headers = self._headers()
        self._batches = [b for b, h in zip(self._batches, headers, strict=True) if h.next_offset <= offset]
        self.disk[:] = self._batches

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._batches = []
        self._start_offset = offset
        self.disk.clear()

    def remove_before(self, offset: int) -> int:
        with self._lock:
            end_offset = self.end_offset
            pairs = zip(self._batches, self._headers(), strict=True)
            self._batches = [batch for batch, header in pairs if header.base_offset >= offset]
            self.disk[:] = self._batches
            self._start_offset = min(offset, end_offset)
        return self.start_offset

    def close(self) -> None:
        self.flush()
        self.is_closed = True

    def abandon(self) -> None:
        self.is_closed = True

    def _headers(self) -> list[BatchHeader]:
        return [next(iterate_headers(batch))[1] for batch in self._batches]
