"""One partition's log: an append-only sequence of batches in segments, with everything that is known about it.

Guarantees. Offsets ascend; a leader's append gives consecutive ones, a follower's keeps the leader's. A leader's append
is in the log whole or not at all, a follower's in whole batches. Readers see whole batches. Between `log_start_offset`
and `log_end_offset` nothing changes except by truncation, retention and compaction.

    log_start_offset <= high_watermark <= log_end_offset,   last_stable_offset <= high_watermark

Leader epochs never fall along the log. An append on behalf of a leader whose epoch is over is refused under the lock,
so a request that was on its way when leadership changed writes nothing.

Threads. Warm reads run on the event loop, and so do appends where they keep no other disk waiting; otherwise appends
run in a thread, one after the other. Cold reads, lookups by time, retention and compaction run in threads. Whatever
changes the log holds its lock, for as long as its own files take to be written, renamed, cut or removed, and never over
a sync. Readers take none, unless something was taken away under them: the list of segments is replaced, not changed,
and files stay open while someone reads them. What must not wait for the disk does not wait for the lock either.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from ottla.protocol.compression import Buffer
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    NO_TIMESTAMP,
    PLACEMENT,
    PLACEMENT_BYTES,
    BatchHeader,
    parse_header,
)
from ottla.protocol.records import CorruptRecords
from ottla.storage.append_validation import has_new_batches, needs_rewrite, rewrite_batch, validate_client_batch
from ottla.storage.batch_placement import (
    ClientRun,
    PlacedBatch,
    place_batches,
    place_run,
    placed_batches,
    split_batches,
)
from ottla.storage.errors import DamagedIndex, LogGone, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.leader_epochs import EpochEnd
from ottla.storage.log_access import LogAccess
from ottla.storage.log_config import LogConfig
from ottla.storage.log_flush import LogFlush
from ottla.storage.log_reading import LogRead, read_batches
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET
from ottla.storage.producer_replay import apply_batch, recall, replay
from ottla.storage.producer_state import AppendOrigin, ProducerBatch, ProducerState
from ottla.storage.recovery import NO_CHECKPOINT, LogCheckpoint, load_log
from ottla.storage.retention import DeletableSegment, FutureTimestamps, deletable_segments, tell_deleted
from ottla.storage.rolling import must_roll
from ottla.storage.segment import Segment
from ottla.storage.segment_list import TAKEN_AT_ONCE_MAX, SegmentList
from ottla.storage.segment_transactions import NotInMemory, aborted_between
from ottla.storage.timestamp_lookup import TimestampOffset, first_at_or_after, latest
from ottla.storage.transaction_index import AbortedTransaction
from ottla.storage.transaction_verification import VerificationGuard

Found = TypeVar("Found")


class AppendInfo(NamedTuple):
    """Where a batch went; for a duplicate, where its original is.

    An offset alone does not name a record: after a change of leader another one may stand there. Whoever waits for the
    commit waits for the offset in this leader epoch, which for a duplicate is the epoch of the append that found it.
    """

    first_offset: int
    last_offset: int
    leader_epoch: int
    max_timestamp: int
    # -1 unless the topic's timestamps are those of the append.
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool


# The constructor that NamedTuple makes is Python code, and takes twice as long.
_make_info = partial(tuple.__new__, AppendInfo)


class Log:
    """A log on the disk; opening it finds what is there, or creates it."""

    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        config: LogConfig,
        checkpoint: LogCheckpoint = NO_CHECKPOINT,
        *,
        now_ms: int,
    ) -> None:
        file_system.make_directory(directory)
        loaded = load_log(file_system, directory, config, checkpoint, now_ms=now_ms)
        self.directory = directory
        self.config = config
        self.log_start_offset = loaded.log_start_offset
        self.high_watermark = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.leader_epochs = loaded.leader_epochs
        self.producers = loaded.producers
        self.future_timestamps = FutureTimestamps()
        self._file_system = file_system
        self._access = access = LogAccess(directory)
        self._segments = SegmentList(file_system, access, loaded.segments, loaded.log_end_offset)
        self._flush = LogFlush(
            file_system,
            access,
            self._segments,
            loaded.leader_epochs,
            recovery_point=loaded.recovery_point,
            now_ms=now_ms,
        )
        self._snapshots = loaded.snapshots
        self._last_snapshot_offset = max(loaded.snapshots.offsets(), default=-1)
        self._reserve_space()

    # What is known.

    @property
    def is_gone(self) -> bool:
        """Whether the log was closed, deleted, moved away or given up: nothing can be done with it any more."""
        return self._access.is_gone

    @property
    def segments(self) -> list[Segment]:
        """The segments now, oldest first; the last one is active."""
        return self._segments.segments

    @property
    def size_bytes(self) -> int:
        """The bytes of all batches, indexes not counted."""
        return self._segments.size_bytes

    def bytes_from(self, offset: int) -> int:
        """The bytes of the batches from an offset on, or more: as exact as the indexes that are in memory."""
        return self._segments.bytes_from(offset) if offset < self.log_end_offset else 0

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided and replicated."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        # The beginning of a transaction may have been deleted before its end came.
        return max(unstable, self.log_start_offset)

    def producer_states(self) -> list[ProducerState]:
        """The producers that write here."""
        return self.producers.all()

    def update_config(self, config: LogConfig) -> None:
        """New settings hold from the next operation on."""
        self.config = config

    def update_high_watermark(self, high_watermark: int) -> bool:
        """Everything below an offset is committed, which is kept within the log; whether the high watermark moved."""
        if not self.log_start_offset <= high_watermark <= self.log_end_offset:
            high_watermark = max(self.log_start_offset, min(high_watermark, self.log_end_offset))
        if high_watermark == self.high_watermark:
            return False
        self.high_watermark = high_watermark
        self.producers.forget_replicated(high_watermark)
        return True

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd | None:
        """The largest epoch not above the one asked for and where it ends; None if that is unknown."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader takes office: its epoch begins at the end of the log."""
        with self.changing():
            self.leader_epochs.begin(epoch, self.log_end_offset)

    def changing(self) -> AbstractContextManager[None]:
        """Hold the lock of a log that is still there; LogGone if it is not."""
        return self._access.changing()

    # Appending.

    def append_as_leader(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        header: BatchHeader | None = None,
        verification: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Give a client's batch the next offsets and append it.

        It is checked here unless the caller passes the `header` that `validate_client_batch` or `rewrite_batch` gave
        for these very bytes. A batch that begins a transaction has a guard. NOT_LEADER_OR_FOLLOWER in a later epoch.
        """
        if header is None:
            header = validate_client_batch(records, self.config)
            if needs_rewrite(header, self.config, now_ms):
                records, header = rewrite_batch(records, header, self.config, now_ms)
        _, batch_length, _, _, _, attributes, last_offset_delta, _, max_timestamp, producer_id, _, _, _ = header
        size = batch_length + LOG_OVERHEAD_BYTES
        assert size == len(records), "the header is not the one of these bytes"
        access = self._access
        with access.lock:
            if access.is_gone:
                raise LogGone(self.directory)
            latest_epoch = self.leader_epochs.latest
            if leader_epoch < latest_epoch:
                raise self._fenced(leader_epoch)
            base_offset = self.log_end_offset
            last_offset = base_offset + last_offset_delta
            is_idempotent = producer_id >= 0
            if is_idempotent:
                if producer_id in self.producers.restored:
                    self._recall(header)
                original = self.producers.check(
                    header, AppendOrigin.CLIENT, verification, needs_guard=self.config.transaction_verification_enabled
                )
                if original is not None:
                    return self._duplicate(leader_epoch, original)
            segment = self._segments.active
            if must_roll(segment, self.config, size, last_offset, max_timestamp, now_ms):
                self._require_fit(size)
                segment = self._roll_for(base_offset, last_offset, now_ms)
            placement = PLACEMENT.pack(base_offset, batch_length, leader_epoch)
            position = segment.write((placement, memoryview(records)[PLACEMENT_BYTES:]), size)
            segment.note_batch(position, size, last_offset, max_timestamp)
            if leader_epoch > latest_epoch:
                self.leader_epochs.assign(leader_epoch, base_offset)
            if is_idempotent:
                self.producers.update(header, base_offset)
            self._advance(last_offset + 1, segment)
            stamped_ms = max_timestamp if attributes & LOG_APPEND_TIME_FLAG else NO_TIMESTAMP
            start = self.log_start_offset
            return _make_info((base_offset, last_offset, leader_epoch, max_timestamp, stamped_ms, start, False))

    def append_run_as_leader(self, run: ClientRun, *, leader_epoch: int, now_ms: int) -> AppendInfo | None:
        """Give several batches of clients the next offsets and append them in one write, all or none.

        Each comes with the header that `validate_client_batch` gave for it. The outcome is that of the run as a whole;
        None if one of them is not simply the next of its producer, so that each has to be appended alone.
        NOT_LEADER_OR_FOLLOWER in a later epoch.
        """
        access = self._access
        with access.lock:
            if access.is_gone:
                raise LogGone(self.directory)
            latest_epoch = self.leader_epochs.latest
            if leader_epoch < latest_epoch:
                raise self._fenced(leader_epoch)
            idempotent = [header for _, header in run if header.producer_id >= 0]
            if idempotent and not self.producers.are_next(idempotent):
                return None
            base_offset = self.log_end_offset
            parts, placed = place_run(run, base_offset, leader_epoch)
            run_bytes = sum([size for size, _, _ in placed])
            last_offset = placed[-1][1]
            max_timestamp = max([timestamp for _, _, timestamp in placed])
            segment = self._segments.active
            if must_roll(segment, self.config, run_bytes, last_offset, max_timestamp, now_ms):
                self._require_fit(run_bytes)
                segment = self._roll_for(base_offset, last_offset, now_ms)
            position = segment.write(parts, run_bytes)
            for size, batch_last_offset, batch_max_timestamp in placed:
                segment.note_batch(position, size, batch_last_offset, batch_max_timestamp)
                position += size
            if leader_epoch > latest_epoch:
                self.leader_epochs.assign(leader_epoch, base_offset)
            if idempotent:
                for (_, header), (_, batch_last_offset, _) in zip(run, placed, strict=True):
                    if header.producer_id >= 0:
                        self.producers.update(header, batch_last_offset - header.last_offset_delta)
            self._advance(last_offset + 1, segment)
            start = self.log_start_offset
            return _make_info((base_offset, last_offset, leader_epoch, max_timestamp, NO_TIMESTAMP, start, False))

    def append_own_as_leader(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Give batches that this broker made itself the next offsets and append them, in one write.

        A marker is judged by the rules of a transaction version; one that comes again is a duplicate, and nothing is
        written. NOT_LEADER_OR_FOLLOWER if a later leader epoch than `leader_epoch` has begun.
        """
        with self.changing():
            if leader_epoch < self.leader_epochs.latest:
                raise self._fenced(leader_epoch)
            placed, batches = place_batches(records, self.log_end_offset, leader_epoch)
            if not has_new_batches(
                self.producers,
                placed,
                batches,
                verification,
                needs_guard=self.config.transaction_verification_enabled,
                transaction_version=transaction_version,
            ):
                return self._duplicate(leader_epoch)
            (begin, _), (last_position, last) = batches[0], batches[-1]
            self._require_fit(last_position + last.size_bytes - begin)
            self._append_placed(placed, batches, now_ms)
            return self._placed_at(batches)

    def _recall(self, header: BatchHeader) -> None:
        """Look up what a snapshot left out of a producer, if a batch may be a repetition of it."""
        state = self.producers.lacking_history(header)
        if state is not None:
            self.producers.add_history(state, recall(self._segments.segments, state))
            self._segments.note_loaded()

    def _duplicate(self, leader_epoch: int, original: ProducerBatch | None = None) -> AppendInfo:
        """Where the original is; of a repeated marker, what was appended last."""
        first = last = self.log_end_offset - 1
        timestamp_ms = NO_TIMESTAMP
        if original is not None:
            first, last, timestamp_ms = original.first_offset, original.last_offset, original.timestamp_ms
        return AppendInfo(
            first, last, leader_epoch, timestamp_ms, NO_TIMESTAMP, self.log_start_offset, is_duplicate=True
        )

    def _fenced(self, leader_epoch: int) -> ApiError:
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"{self.directory.name} takes no append of leader epoch {leader_epoch}: "
            f"epoch {self.leader_epochs.latest} has begun.",
        )

    def append_as_follower(self, records: Buffer, *, now_ms: int, leader_epoch: int | None = None) -> AppendInfo | None:
        """Append batches of the leader at the offsets that they have; None if there is no whole one.

        The bytes may end in the middle of a batch. Batches of a later epoch than the leader's are left out.
        CorruptRecords if a batch is damaged or out of order.

        A leader's log may start inside a batch, and that batch begins before an empty log that was told to start there:
        it starts with the batch then.
        """
        with self.changing():
            if self.log_start_offset == self.log_end_offset and len(records) >= HEADER_BYTES:
                first = parse_header(records)
                if first.base_offset < self.log_end_offset <= first.last_offset:
                    self.truncate_fully_and_start_at(first.base_offset, now_ms)
            whole, batches = placed_batches(records, self.log_end_offset, leader_epoch)
            if not batches:
                return None
            for part in split_batches(batches, self.config.segment_bytes):
                # They were accepted once, and have to be taken whatever segment.bytes is now.
                self._append_placed(whole, part, now_ms)
            return self._placed_at(batches)

    def _placed_at(self, headers: list[PlacedBatch]) -> AppendInfo:
        last = headers[-1][1]
        return AppendInfo(
            headers[0][1].base_offset,
            last.last_offset,
            last.leader_epoch,
            max(header.max_timestamp for _, header in headers),
            NO_TIMESTAMP,
            self.log_start_offset,
            is_duplicate=False,
        )

    def _append_placed(self, batches: memoryview, headers: list[PlacedBatch], now_ms: int) -> None:
        """Append batches whose offsets are final to one segment, in one write."""
        (begin, first), (last_position, last) = headers[0], headers[-1]
        data = batches[begin : last_position + last.size_bytes]
        max_timestamp = max(header.max_timestamp for _, header in headers)
        segment = self._segments.active
        if must_roll(segment, self.config, len(data), last.last_offset, max_timestamp, now_ms):
            segment = self._roll_for(first.base_offset, last.last_offset, now_ms)
        start = segment.write((data,), len(data))
        for position, header in headers:
            size = header.size_bytes
            segment.note_batch(start + position - begin, size, header.last_offset, header.max_timestamp)
            if header.leader_epoch > self.leader_epochs.latest:
                self.leader_epochs.assign(header.leader_epoch, header.base_offset)
            if header.has_producer_id:
                batch = batches[position : position + size]
                aborted = apply_batch(self.producers, header, header.base_offset, batch)
                if aborted is not None:
                    segment.transaction_index.append(aborted)
        self._advance(last.next_offset, segment)

    def _advance(self, log_end_offset: int, segment: Segment) -> None:
        self._segments.view[1].remember(log_end_offset, segment, segment.size_bytes)
        self.log_end_offset = log_end_offset
        self.producers.map_end_offset = log_end_offset

    def _require_fit(self, size: int) -> None:
        if size > self.config.segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes of records do not fit in one segment, segment.bytes is {self.config.segment_bytes}.",
            )

    def _roll_for(self, first_offset: int, last_offset: int, now_ms: int) -> Segment:
        # Where the log ends, so that segments follow each other without a gap, unless the offsets leap too far.
        is_near = last_offset - self.log_end_offset <= MAX_RELATIVE_OFFSET
        return self.roll(now_ms, self.log_end_offset if is_near else first_offset)

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Close the active segment and begin another at the end of the log, or at a later offset."""
        with self.changing():
            if base_offset is None:
                base_offset = self.log_end_offset
            active = self._segments.active
            if active.size_bytes == 0 and active.base_offset == base_offset:
                return active
            active.seal()
            self._take_snapshot(base_offset, sync=False)
            self._segments.roll(base_offset, self.config.index_interval_bytes, now_ms)
            self._reserve_space()
            return self._segments.active

    def _reserve_space(self) -> None:
        if self.config.preallocate:
            self._segments.active.reserve(self.config.segment_bytes)

    def _take_snapshot(self, offset: int, *, sync: bool) -> None:
        if self.producers.map_end_offset > self._last_snapshot_offset:
            self._snapshots.write(self.producers, offset, sync=sync)
            self._last_snapshot_offset = offset

    # Reading.

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        *,
        max_offset_exclusive: int,
        min_one_batch: bool,
        allow_blocking: bool = False,
    ) -> LogRead:
        """Whole batches from the one that holds `start_offset` on, up to the end of its segment at most.

        If the outcome `is_cold`, bytes are not in memory: call again in a thread with `allow_blocking`.
        """
        while True:
            version = self._segments.version
            if self._access.is_gone:
                raise LogGone(self.directory)
            view = self._segments.view
            # The start of the log moves before its segments go: if it is not past the offset now, they are in the view.
            self.check_readable(start_offset)
            end_offset = min(max_offset_exclusive, self.log_end_offset)
            if start_offset >= end_offset:
                return LogRead(b"", start_offset, is_cold=False)
            try:
                outcome = read_batches(
                    *view,
                    start_offset,
                    end_offset,
                    max_bytes,
                    min_one_batch=min_one_batch,
                    allow_blocking=allow_blocking,
                )
            except DamagedIndex as damage:
                if not allow_blocking:
                    return LogRead(b"", start_offset, is_cold=True)
                self._segments.repair_indexes(damage)
                continue
            except (StorageError, CorruptRecords):
                if not allow_blocking:
                    # Whether it is a real error is found out by who may wait for the lock.
                    return LogRead(b"", start_offset, is_cold=True)
                if self._segments.stays_unchanged(version):
                    raise
                continue
            if self._segments.is_unchanged(version):
                return outcome
            if not allow_blocking:
                return LogRead(b"", start_offset, is_cold=True)
            if self._segments.stays_unchanged(version):
                return outcome

    def check_readable(self, start_offset: int) -> None:
        """OFFSET_OUT_OF_RANGE unless a read may begin there: in the log, or at its end."""
        if start_offset < self.log_start_offset or start_offset > self.log_end_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {start_offset} is not in the log, which goes from {self.log_start_offset} "
                f"to {self.log_end_offset}.",
            )

    def consistently(self, lookup: Callable[[list[Segment]], Found]) -> Found:
        """The outcome of a lookup over all segments, begun anew if some are taken away under it."""
        return self._segments.consistently(lookup)

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that touch a range, sorted by first offset."""
        found = self._segments.consistently(lambda segments: aborted_between(segments, start_offset, end_offset))
        self._segments.note_loaded()
        return found

    def aborted_in_memory(self, start_offset: int, end_offset: int) -> list[AbortedTransaction] | None:
        """The same without waiting for a disk; None if that is not possible."""
        version = self._segments.version
        try:
            found = aborted_between(self._segments.segments, start_offset, end_offset, allow_blocking=False)
        except NotInMemory:
            return None
        return found if self._segments.is_unchanged(version) else None

    def offset_for_timestamp(self, timestamp: int, max_offset_exclusive: int) -> TimestampOffset | None:
        """The first record that is not earlier than a timestamp, exact to the record; for a thread."""
        found = self._segments.consistently(
            lambda segments: first_at_or_after(segments, timestamp, self.log_start_offset, max_offset_exclusive)
        )
        self._segments.note_loaded()
        return found

    def offset_of_max_timestamp(self, max_offset_exclusive: int) -> TimestampOffset | None:
        """The first record with the largest timestamp; for a thread."""
        found = self._segments.consistently(
            lambda segments: latest(segments, self.log_start_offset, max_offset_exclusive)
        )
        self._segments.note_loaded()
        return found

    # Shortening.

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Cut the log so that it ends at an offset; False if no record goes, because it ends before or there already.

        A leader epoch that began at the end and has no record goes in any case: left in the history, it would lead
        replicas that compare their epochs to this very offset again and again (KAFKA-10706).
        """
        if offset < 0:
            raise ValueError(f"cannot truncate to the negative offset {offset}")
        with self.changing():
            if offset >= self.log_end_offset:
                self.leader_epochs.truncate_from_end(self.log_end_offset)
                return False
            if offset < self._segments.segments[0].base_offset:
                self.truncate_fully_and_start_at(offset, now_ms)
                return True
            self._segments.truncate_to(offset)
            self.leader_epochs.truncate_from_end(offset)
            self._after_truncation(offset)
            self._reload_producers(now_ms)
            return True

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drop everything; the log is empty and continues at an offset."""
        with self.changing():
            self._segments.restart_at(offset, self.config.index_interval_bytes, now_ms)
            self.leader_epochs.clear()
            self._snapshots.remove_all()
            self._last_snapshot_offset = -1
            self.producers.clear(offset)
            self.log_start_offset = offset
            self._after_truncation(offset)

    def _after_truncation(self, offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = max(self.log_start_offset, min(self.high_watermark, offset))
        self._flush.cut_back(offset)

    @property
    def truncation_count(self) -> int:
        """How often the log was truncated since it was opened."""
        return self._segments.truncation_count

    def take_truncation(self) -> int | None:
        """The lowest offset that the log was cut back to since this was asked last: behind it nothing is compacted."""
        with self.changing():
            return self._segments.take_truncation()

    def _reload_producers(self, now_ms: int) -> None:
        self._snapshots.remove_after(self.log_end_offset)
        self._snapshots.restore(
            self.producers,
            self.log_start_offset,
            self.log_end_offset,
            now_ms,
            self.config.producer_id_expiration_ms,
        )
        self._last_snapshot_offset = max(self._snapshots.offsets(), default=-1)
        start = self.producers.map_end_offset
        if start < self.log_end_offset:
            replay(self.producers, self._segments.from_offset(start), start, self.log_end_offset)
        self.producers.forget_replicated(self.high_watermark)

    def increment_log_start_offset(self, offset: int) -> bool:
        """Records below an offset are deleted for good; ApiError above the high watermark, False if nothing changes."""
        if offset > self.high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Records can be deleted up to the high watermark {self.high_watermark}, not to {offset}.",
            )
        with self.changing():
            if offset <= self.log_start_offset:
                return False
            self.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)
            return True

    def delete_old_segments(self, now_ms: int) -> int:
        """Drop the segments that retention and the log start offset allow to go; how many.

        DiskFull if the active one should go and there is no space for its successor; the others are gone by then.
        """
        count = 0
        while dropped := self._delete_some_segments(now_ms):
            count += dropped
        with self.changing():
            self.future_timestamps.look(self._segments.segments, self.config, now_ms)
        return count

    def _delete_some_segments(self, now_ms: int) -> int:
        with self.changing():
            doomed = deletable_segments(
                self._segments.segments,
                self.config,
                self.log_start_offset,
                self.log_end_offset,
                self.high_watermark,
                now_ms,
            )[:TAKEN_AT_ONCE_MAX]
            sealed = [one for one in doomed if one.segment is not self._segments.active]
            self._drop_oldest(sealed, now_ms)
            if len(doomed) > len(sealed):
                self.roll(now_ms)
                self._drop_oldest(doomed[len(sealed) :], now_ms)
            return len(doomed)

    def _drop_oldest(self, doomed: list[DeletableSegment], now_ms: int) -> None:
        """Move the log start behind the first segments, and take them out."""
        if doomed:
            first_left = self._segments.segments[len(doomed)]
            self.log_start_offset = max(self.log_start_offset, first_left.base_offset)
            self._drop([one.segment for one in doomed], now_ms)
            self.leader_epochs.truncate_from_start(self.log_start_offset)
            tell_deleted(self.directory, doomed, self.log_start_offset)

    def delete_segments_before(self, offset: int, now_ms: int) -> int:
        """Move the log start to an offset that a snapshot covers, and drop the segments wholly before it."""
        self.increment_log_start_offset(offset)
        count = 0
        while True:
            with self.changing():
                doomed = self._segments.before(self.log_start_offset)[:TAKEN_AT_ONCE_MAX]
                if not doomed:
                    return count
                self._drop(doomed, now_ms)
                count += len(doomed)

    def _drop(self, doomed: list[Segment], now_ms: int) -> None:
        """Take segments out of the log; their files follow after file.delete.delay.ms."""
        self._segments.drop(doomed, self.log_end_offset, now_ms + self.config.file_delete_delay_ms)
        for segment in doomed:
            self._snapshots.remove(segment.base_offset)

    @property
    def has_deleted_files(self) -> bool:
        """Whether files wait for their removal; waits for nobody."""
        return self._segments.has_deleted

    def remove_deleted_files(self, now_ms: int) -> int:
        """Remove the files whose delay has passed; how many segments."""
        with self.changing():
            due = self._segments.take_due(now_ms)
        with self._access.unless_gone():
            for segment in due:
                segment.remove_files()
        return len(due)

    def replace_segments(self, old: list[Segment], new: Segment, truncation_count: int, now_ms: int) -> bool:
        """Put a compacted segment, whose files are synced and end in `.cleaned`, in the place of its sources.

        False, and nothing done, if the sources are no longer all there or the log was truncated since they were read.
        """
        with self.changing():
            if not self.still_holds(old, truncation_count):
                new.remove_files()
                return False
            new.become_swap()
            self._segments.incoming = new
        with self._access.unless_gone():
            self._file_system.sync_directory(self.directory)
        with self.changing():
            if self._segments.incoming is not new:
                return False
            self._segments.replace(old, new, self.log_end_offset, now_ms + self.config.file_delete_delay_ms)
            for segment in old[1:]:
                self._snapshots.remove(segment.base_offset)
            return True

    def still_holds(self, segments: list[Segment], truncation_count: int) -> bool:
        """Whether segments are in the log as they were when it had been truncated so many times."""
        with self.changing():
            return truncation_count == self._segments.truncation_count and self._segments.contains(segments)

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers that have been idle for producer.id.expiration.ms, without an open transaction; how many."""
        with self.changing():
            return self.producers.expire(now_ms, self.config.producer_id_expiration_ms)

    # Durability and the end, see `log_flush` and `log_access`.

    @property
    def recovery_point(self) -> int:
        """Everything below this offset is on the disk."""
        return self._flush.recovery_point

    @property
    def last_flush_ms(self) -> int:
        return self._flush.last_flush_ms

    @property
    def unflushed_messages(self) -> int:
        return self.log_end_offset - self._flush.recovery_point

    @property
    def must_flush_now(self) -> bool:
        """Whether flush.messages is reached: then an append is answered after a flush."""
        return self.log_end_offset - self._flush.recovery_point >= self.config.flush_messages

    def flush(self, now_ms: int) -> None:
        """Wait until everything appended so far is on the disk, then move the recovery point."""
        self._flush.flush(lambda: self.log_end_offset, now_ms)

    def close(self, now_ms: int) -> None:
        """Sync everything, store what makes the next start quick, and release the files, unless the log is gone."""
        try:
            with self.changing():
                self._segments.active.seal()
                self._take_snapshot(self.log_end_offset, sync=True)
                self._flush.last_flush_ms = now_ms
            self._flush.flush_at_close(lambda: self.log_end_offset)
        except LogGone:
            return
        self.abandon()

    def abandon(self) -> None:
        """Release the files without writing anything; from here on everybody who still holds the log gets LogGone."""
        with self._access.lock:
            self._access.is_gone = True
            self._segments.abandon()

    def retire(self, target: Path) -> None:
        """Abandon the log and give its directory another name; may wait for a flush that is under way."""
        self.abandon()
        with self._flush.under_way:
            self._file_system.rename(self.directory, target)
