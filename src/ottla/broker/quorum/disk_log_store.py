"""The metadata log on disk: a partition's log like any other, which only the quorum writes.

Every start scans the whole log, since no damaged batch may reach the image. Snapshots keep the log short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ottla.protocol.compression import Buffer
from ottla.protocol.uuids import METADATA_TOPIC_ID
from ottla.storage.file_system import FileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import MAX_INT64, UNLIMITED, LogConfig
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from ottla.storage.recovery import LogCheckpoint


class DiskLogStore:
    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        *,
        start_offset: int,
        segment_bytes: int,
        segment_ms: int,
        wall_clock_ms: Callable[[], int],
    ) -> None:
        """Opens the log; may wait for the disk. `start_offset` is the end of the oldest snapshot: the log is not needed
        before it."""
        self._wall_clock_ms = wall_clock_ms
        config = LogConfig(
            segment_bytes=segment_bytes,
            segment_ms=segment_ms,
            retention_ms=UNLIMITED,
            retention_bytes=UNLIMITED,
            max_message_bytes=segment_bytes,
            flush_messages=MAX_INT64,
            # A snapshot covers removed segments, and a reader that still needs them holds them open.
            file_delete_delay_ms=0,
        )
        self._log = Log(file_system, directory, config, LogCheckpoint(start_offset), now_ms=wall_clock_ms())
        # A process that was killed leaves in the kernel's memory what it had not synced yet. Others will count on what
        # this replica says it has.
        self.flush()
        if read_topic_id(file_system, directory) is None:
            write_topic_id(file_system, directory, METADATA_TOPIC_ID)

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    def epoch_starts(self) -> Sequence[tuple[int, int]]:
        return [(entry.epoch, entry.start_offset) for entry in self._log.leader_epochs.entries]

    def append(self, batches: Sequence[Buffer]) -> None:
        self._log.append_as_follower(b"".join(batches), now_ms=self._wall_clock_ms())

    def flush(self) -> None:
        self._log.flush(self._wall_clock_ms())

    def read(self, from_offset: int, end_offset: int, max_bytes: int) -> Buffer:
        found = self._log.read(
            from_offset, max_bytes, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True
        )
        return found.records

    def truncate_to(self, offset: int) -> None:
        self._log.truncate_to(offset, self._wall_clock_ms())
        self.flush()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._log.truncate_fully_and_start_at(offset, self._wall_clock_ms())

    def remove_before(self, offset: int) -> int:
        now_ms = self._wall_clock_ms()
        # A snapshot holds committed records only.
        self._log.update_high_watermark(offset)
        self._log.delete_segments_before(offset, now_ms)
        self._log.remove_deleted_files(now_ms)
        return self._log.log_start_offset

    def close(self) -> None:
        self._log.close(self._wall_clock_ms())

    def abandon(self) -> None:
        self._log.abandon()
