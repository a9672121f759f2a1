"""Moves one log to another directory of the same broker while it is in use (KIP-113).

The log is copied batch by batch into a directory with the suffix `-future` in the target, from the log's start to its
end, as a follower would. When the copy has nearly caught up, the owner keeps everybody away from the log for a moment;
`finish` copies the rest, renames the copy to the partition's name and marks the original for deletion.

What survives a crash: before the rename the original, after it the copy. Between the rename in the target and the one
in the source both directories exist; the next start keeps the copy, which is complete, and drops the original, because
a crash can only leave the pair if the copy was flushed.
"""

import uuid

from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.partition_directories import FUTURE_SUFFIX, TopicPartition, marked_directory_name

# One read of the copy; between two of them the log is free for everybody.
_COPY_BYTES = 4 * 1024 * 1024


class DirectoryMove:
    """One log on its way. `catch_up` and `finish` wait for disks and belong in a thread."""

    def __init__(self, key: TopicPartition, log: Log, source: LogDirectory, target: LogDirectory, now_ms: int) -> None:
        self.key = key
        self.source = source
        self.target = target
        self._log = log
        self._caught_up_bytes = 0
        name = marked_directory_name(*key, uuid.uuid4().hex, FUTURE_SUFFIX)
        self._copy = Log(target.file_system, target.path / name, log.config, now_ms=now_ms)
        if log.log_start_offset > 0:
            self._copy.truncate_fully_and_start_at(log.log_start_offset, now_ms)

    @property
    def lag(self) -> int:
        """How many offsets are not copied yet."""
        return self._log.log_end_offset - self._copy.log_end_offset

    @property
    def lag_bytes(self) -> int:
        """About how much was appended since the copy last caught up; before it did, the whole log."""
        return max(self._log.size_bytes - self._caught_up_bytes, 0)

    @property
    def size_bytes(self) -> int:
        """How large the copy is."""
        return self._copy.size_bytes

    def catch_up(self, now_ms: int) -> None:
        """Copies up to where the log ends now."""
        end_offset, size_bytes = self._log.log_end_offset, self._log.size_bytes
        self._copy_to(end_offset, now_ms)
        self._caught_up_bytes = size_bytes

    def _copy_to(self, end_offset: int, now_ms: int) -> None:
        while self._copy.log_end_offset < end_offset:
            offset = max(self._copy.log_end_offset, self._log.log_start_offset)
            read = self._log.read(
                offset, _COPY_BYTES, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True
            )
            if read.records:
                self._copy.append_as_follower(read.records, now_ms=now_ms)
            if read.next_offset >= end_offset:
                return

    def finish(self, topic_id: bytes, config: LogConfig, now_ms: int) -> Log:
        """The log in its new place. Nobody may append meanwhile."""
        self.catch_up(now_ms)
        log_start_offset, high_watermark = self._log.log_start_offset, self._log.high_watermark
        self._copy.close(now_ms)
        moved = self.target.adopt_future(
            self.key, self._copy.directory, topic_id, config, log_start_offset=log_start_offset, now_ms=now_ms
        )
        moved.update_high_watermark(high_watermark)
        self.source.delete(self.key, now_ms)
        return moved

    def abandon(self) -> None:
        """Gives the copy up."""
        self._copy.abandon()
        self.target.file_system.remove_tree(self._copy.directory)
