"""Moving one log to another directory of the same broker while it is in use (KIP-113).

The log is copied batch by batch into a directory with the suffix `-future` in the target, from the log's start to its
end, as a follower would. When the copy has nearly caught up, the owner blocks all access to the log for a moment;
`finish` copies the rest and the leader epochs, syncs the copy and renames it to the partition's name. Then the original
is deleted.

A failure before the rename leaves the original as it was, and in use; `abandon` gives up the copy. After the rename the
copy is the log, whatever happens to the original.

What survives a crash: before the rename the original, after it the copy. Between the rename in the target and the one
in the source both directories exist. Nothing is appended in between, so they hold the same; the next start keeps the
longer one, or either if they are equal.
"""

from ottla.protocol.record_batch import parse_header
from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.errors import LogGone, StorageError
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from ottla.storage.recovery import LogCheckpoint

# One read of the copy; between two of them the log is free for everybody.
_COPY_BYTES = 4 * 1024 * 1024


class DirectoryMove:
    """The move of one log. `catch_up` and `finish` wait for disks and belong in a thread."""

    def __init__(self, key: TopicPartition, log: Log, source: LogDirectory, target: LogDirectory, now_ms: int) -> None:
        self.key = key
        self.source = source
        self.target = target
        self._log = log
        self._truncation_count = log.truncation_count
        directory = target.new_future_path(key)
        try:
            checkpoint = LogCheckpoint(log.log_start_offset)
            self._copy = Log(target.file_system, directory, log.config, checkpoint, now_ms=now_ms)
        except StorageError:
            target.discard(directory)
            raise

    @property
    def lag(self) -> int:
        """How many offsets are not copied yet."""
        return self._log.log_end_offset - self._copy.log_end_offset

    @property
    def lag_bytes(self) -> int:
        """How many bytes are not copied yet, or up to a segment more if indexes are not in memory."""
        return self._log.bytes_from(self._copy.log_end_offset)

    @property
    def size_bytes(self) -> int:
        """How large the copy is."""
        return self._copy.size_bytes

    def catch_up(self, now_ms: int) -> None:
        """Copy up to where the log ends now."""
        end_offset = self._log.log_end_offset
        while True:
            self._undo_what_was_truncated(now_ms)
            end_offset = min(end_offset, self._log.log_end_offset)
            if self._copy.log_end_offset >= end_offset:
                return
            offset = max(self._copy.log_end_offset, self._log.log_start_offset)
            read = self._log.read(
                offset, _COPY_BYTES, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True
            )
            if read.records:
                self._make_room(offset, parse_header(read.records).base_offset, now_ms)
                self._copy.append_as_follower(read.records, now_ms=now_ms)
            if read.next_offset >= end_offset:
                return

    def _undo_what_was_truncated(self, now_ms: int) -> None:
        """Start the copy over if the log was truncated, as a follower's is: it may hold what the log lost."""
        truncation_count = self._log.truncation_count
        if truncation_count != self._truncation_count:
            self._truncation_count = truncation_count
            self._copy.truncate_fully_and_start_at(self._log.log_start_offset, now_ms)

    def _make_room(self, offset: int, first_offset: int, now_ms: int) -> None:
        """Start the copy over if the next batch is the one in which the log starts, or follows a gap."""
        is_overtaken = offset > self._copy.log_end_offset
        if is_overtaken or (self._copy.size_bytes == 0 and first_offset < self._copy.log_end_offset):
            self._copy.truncate_fully_and_start_at(min(first_offset, offset), now_ms)

    def finish(self, topic_id: bytes, now_ms: int) -> Log:
        """Move the log to its new place; the owner deletes the original. Nobody may append meanwhile."""
        self.catch_up(now_ms)
        # Batches do not tell the whole history: an epoch may have none, or have lost its first ones to compaction.
        self._copy.leader_epochs.take_over(self._log.leader_epochs.entries)
        self._copy.close(now_ms)
        if self._log.is_gone:
            raise LogGone(self._log.directory)
        moved = self.target.adopt_future(
            self.key,
            self._copy.directory,
            topic_id,
            self._log.config,
            log_start_offset=self._log.log_start_offset,
            now_ms=now_ms,
        )
        # Opening a log forgets an epoch that began at its end, as after a crash; here its leader still leads.
        moved.assign_leader_epoch(self._log.leader_epochs.latest)
        moved.update_high_watermark(self._log.high_watermark)
        # Somebody may be asking a coordinator now, to write with its guard afterwards.
        moved.producers.verification = self._log.producers.verification
        return moved

    def abandon(self) -> None:
        """Give the copy up, whatever state it is in; the next removal pass of the target removes the files."""
        self._copy.abandon()
        self.target.discard(self._copy.directory)
