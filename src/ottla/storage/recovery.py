"""Opening a log: from whatever files a shutdown or a crash left, to a sound list of segments.

What a crash may leave: half a batch at the end, or a hole in the middle of what was not synced; indexes that are
missing, short or ahead of the log; files of a compaction that had begun (`.cleaned`) or was being put in place
(`.swap`); files marked `.deleted`. What is promised: everything below the recovery point is there as it was
acknowledged to the disk, and above it the log continues up to the first byte that is not sound. There it is cut, and
later segments are dropped. They are also dropped after a gap between two segments, unless the log is compacted.

After a clean shutdown the segments are taken as they are, and only the end of the last one is read.
"""

import logging
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from crc32c import crc32c

from ottla.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    crc_is_valid,
    parse_header,
)
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedFile, UnsupportedSegment
from ottla.storage.file_system import FileSystem
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.log_config import LogConfig
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET
from ottla.storage.producer_replay import ProducerSnapshots, apply_batch, replay
from ottla.storage.producer_state import ProducerStates
from ottla.storage.segment import Segment
from ottla.storage.segment_files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    SegmentFiles,
    offset_of,
    segment_path,
)
from ottla.storage.segment_scan import scan_batches
from ottla.storage.transaction_checkpoint import take_transaction_indexes
from ottla.storage.transaction_index import AbortedTransaction

_log = logging.getLogger(__name__)

# Offset, size, CRC-32 and magic of a message in the formats before version 2; the CRC covers all from the magic on.
_OLD_MESSAGE = struct.Struct(">qiIb")
_OLD_CRC_START = 16


@dataclass(frozen=True, slots=True)
class LogCheckpoint:
    """What the last run recorded about a log, known before its files are read."""

    log_start_offset: int = 0
    # Everything below it is synced.
    recovery_point: int = 0
    # Whether the last shutdown was clean.
    was_clean: bool = False


NO_CHECKPOINT: Final = LogCheckpoint()


@dataclass(slots=True)
class LoadedLog:
    """A log as found on the disk; the last segment is the active one."""

    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    leader_epochs: LeaderEpochs
    producers: ProducerStates
    snapshots: ProducerSnapshots


FoundBatch: TypeAlias = tuple[int, BatchHeader, memoryview]


class _Loader:
    """The steps of opening one log, in their order."""

    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        config: LogConfig,
        checkpoint: LogCheckpoint,
        now_ms: int,
    ) -> None:
        self._file_system = file_system
        self._directory = directory
        self._config = config
        self._log_start_offset = checkpoint.log_start_offset
        # From where on the log is scanned, and up to where it was synced according to its checkpoint.
        self._recovery_point = checkpoint.recovery_point
        self._synced_to = checkpoint.recovery_point
        self._was_clean = checkpoint.was_clean
        self._now_ms = now_ms
        self._epochs = LeaderEpochs(file_system, directory / LEADER_EPOCH_CHECKPOINT)
        self._producers = ProducerStates(directory.name)
        self._snapshots = ProducerSnapshots(file_system, directory)
        self._segments: list[Segment] = []

    def load(self) -> LoadedLog:
        finish_swaps(self._file_system, self._directory)
        has_epochs = self._epochs.load()
        self._segments = self._find_segments()
        if not has_epochs or self._lacks_epochs():
            # A scan of all batches finds them.
            self._distrust(0)
        self._distrust_damaged_transactions()
        end_offset = self._trust_segments() if self._was_clean else self._recover_segments()
        if self._was_clean and self._log_start_offset > end_offset:
            _log.warning("%s ends at %d and cannot start at %d", self._directory, end_offset, self._log_start_offset)
            self._log_start_offset = 0
        self._drop_before_start()
        if not self._segments:
            end_offset = self._start_empty(max(self._log_start_offset, 0))
        start_offset = max(self._log_start_offset, self._segments[0].base_offset)
        if start_offset > end_offset:
            # Records were deleted up to an offset that the crash then lost: the log starts empty there.
            self._drop_from(0)
            end_offset = self._start_empty(start_offset)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(start_offset)
        self._snapshots.remove_after(end_offset)
        self._snapshots.keep_only({segment.base_offset for segment in self._segments})
        if self._was_clean:
            self._restore_producers(self._segments, start_offset, end_offset)
        else:
            self._producers.map_end_offset = end_offset
        for segment in self._segments[:-1]:
            segment.unload()
        return LoadedLog(
            self._segments,
            start_offset,
            end_offset,
            end_offset if self._was_clean else min(self._recovery_point, end_offset),
            self._epochs,
            self._producers,
            self._snapshots,
        )

    def _lacks_epochs(self) -> bool:
        """Whether the file of epochs is empty or gone, although batches have epochs."""
        first = next((segment for segment in self._segments if segment.size_bytes), None)
        if first is None or self._epochs.entries:
            return False
        try:
            return parse_header(first.file.read(0, HEADER_BYTES)).leader_epoch >= 0
        except CorruptRecords:
            return True

    def _find_segments(self) -> list[Segment]:
        names = set(self._file_system.list_directory(self._directory))
        bases = sorted(
            offset for name in names if name.endswith(LOG_SUFFIX) and (offset := offset_of(name)) is not None
        )
        known = set(bases)
        for name in names:
            offset = offset_of(name)
            if name.endswith(SEGMENT_SUFFIXES[1:]) and offset is not None and offset not in known:
                _log.warning("removing %s: there is no segment for it", self._directory / name)
                self._file_system.remove(self._directory / name)
        segments = []
        for base_offset in bases:
            size = self._file_system.file_size(segment_path(self._directory, base_offset, LOG_SUFFIX)) or 0
            segments.append(self._segment(base_offset, size))
        return segments

    def _segment(self, base_offset: int, size: int) -> Segment:
        return Segment(
            SegmentFiles(self._file_system, self._directory, base_offset),
            size,
            index_interval_bytes=self._config.index_interval_bytes,
            created_ms=self._now_ms,
            is_found=True,
        )

    def _distrust_damaged_transactions(self) -> None:
        """Scan the log if a transaction index is damaged: only the log itself also knows the aborted transactions."""
        noted = take_transaction_indexes(self._file_system, self._directory)
        for segment in self._segments:
            if self._has_damaged_transactions(segment, noted.get(segment.base_offset)):
                _log.warning("the transaction index of %s is damaged or missing: recovering the log", segment.path)
                self._distrust(segment.base_offset)
                return

    def _trust_segments(self) -> int:
        """Take everything as a clean shutdown left it, unless the end shows that it was not."""
        if not self._segments:
            return self._log_start_offset
        active = self._segments[-1]
        checkpointed = self._recovery_point
        try:
            end_offset, last = active.look_up(active.read_end)
        except CorruptRecords as error:
            _log.warning("%s is damaged at its end in spite of a clean shutdown: %s", active.path, error)
            self._distrust(active.base_offset)
            return self._recover_segments()
        if checkpointed > 0 and end_offset != checkpointed:
            _log.warning("%s ends at offset %d, not where it was shut down: %d", active.path, end_offset, checkpointed)
            self._distrust(active.base_offset)
            return self._recover_segments()
        if last is not None and self._epochs.epoch_of(last.base_offset) != last.leader_epoch:
            _log.warning("the leader epochs of %s do not match its batches: recovering the log", self._directory)
            self._epochs.clear()
            self._distrust(0)
            return self._recover_segments()
        return end_offset

    def _distrust(self, offset: int) -> None:
        """Scan the log from an offset on, although it was shut down cleanly."""
        self._was_clean = False
        self._recovery_point = min(self._recovery_point, offset)

    def _has_damaged_transactions(self, segment: Segment, checksum: int | None) -> bool:
        """Whether an index differs from when the log was closed; if that is unknown, each entry is checked."""
        path = segment_path(self._directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
        if checksum is not None:
            data = self._file_system.read_file(path)
            return data is None or crc32c(data) != checksum
        if self._file_system.file_size(path) is None:
            segment.note_no_aborted()
            return False
        try:
            return any(not self._is_aborted(segment, entry) for entry in segment.transaction_index.entries)
        except DamagedFile:
            return True
        except CorruptRecords:
            # Readers of the log will find that it is damaged.
            return False

    def _is_aborted(self, segment: Segment, entry: AbortedTransaction) -> bool:
        """Whether the batches agree that a producer began at one offset and ended with a marker at another."""
        marker = segment.look_up(segment.header_at, entry.last_offset)
        if marker is None or marker.base_offset != entry.last_offset or not marker.is_control:
            return False
        if marker.producer_id != entry.producer_id or not 0 <= entry.last_stable_offset <= marker.next_offset:
            return False
        if entry.first_offset >= entry.last_offset:
            return False
        holding = [one for one in self._segments if one.base_offset <= entry.first_offset]
        if not holding:
            # Retention has deleted its beginning.
            return entry.first_offset >= 0
        first = holding[-1].look_up(holding[-1].header_at, entry.first_offset)
        if first is None or first.base_offset > entry.first_offset:
            # Compaction drops what was aborted.
            return self._config.is_compacted
        return first.base_offset == entry.first_offset and first.producer_id == entry.producer_id

    def _recover_segments(self) -> int:
        """Scan every segment that may hold something not synced; returns the end of what is sound."""
        end_offset = self._segments[0].base_offset if self._segments else self._log_start_offset
        has_producers = False
        recovery_point = self._recovery_point
        for number, segment in enumerate(self._segments):
            is_last = number + 1 == len(self._segments)
            if not is_last and self._segments[number + 1].base_offset <= recovery_point:
                end_offset = self._segments[number + 1].base_offset
                continue
            # Its indexes are rebuilt, and reach the disk only with the next flush from here on: nothing would show that
            # a second crash lost a transaction index.
            self._recovery_point = min(self._recovery_point, segment.base_offset)
            if not has_producers:
                self._restore_producers(self._segments[:number], self._log_start_offset, segment.base_offset)
                has_producers = True
            elif segment.base_offset > end_offset and not self._config.is_compacted:
                _log.warning("dropping %s and what follows: the log before it ends at %d", segment.path, end_offset)
                self._drop_from(number)
                break
            following = None if is_last else self._segments[number + 1].base_offset
            end_offset, is_whole = self._recover_segment(segment, following)
            if not is_whole:
                self._drop_from(number + 1)
                break
        return end_offset

    def _drop_from(self, number: int) -> None:
        """Drop the later segments, the newest first, so that a crash meanwhile makes no gap."""
        self._remove(self._segments[number:][::-1])
        del self._segments[number:]

    def _recover_segment(self, segment: Segment, following_offset: int | None) -> tuple[int, bool]:
        """Rebuild the indexes of a segment and cut it at the first damage; returns its end and whether it was whole."""
        segment.clear_indexes()
        next_offset = segment.base_offset
        valid_bytes = 0
        try:
            for position, header, batch in self._sound_batches(segment, following_offset):
                segment.note_batch(position, header.size_bytes, header.last_offset, header.max_timestamp)
                self._epochs.assign(header.leader_epoch, header.base_offset)
                if header.has_producer_id:
                    aborted = apply_batch(self._producers, header, header.base_offset, batch)
                    if aborted is not None:
                        segment.transaction_index.append(aborted)
                next_offset = header.next_offset
                valid_bytes = position + header.size_bytes
        except CorruptRecords as error:
            refuse_old_format(segment, valid_bytes)
            _log.warning(
                "cutting %s from %d to %d bytes, the log continues at offset %d: %s",
                segment.path,
                segment.size_bytes,
                valid_bytes,
                next_offset,
                error.message,
            )
        is_whole = valid_bytes == segment.size_bytes
        if not is_whole:
            segment.cut_at(valid_bytes, next_offset)
        segment.unverified = None
        self._producers.map_end_offset = next_offset
        segment.seal()
        return next_offset, is_whole

    def _sound_batches(self, segment: Segment, following_offset: int | None) -> Iterator[FoundBatch]:
        """Yield the batches up to the first that is not sound; CorruptRecords there.

        No checksum covers the offset of a batch. A batch after a gap is doubted: if what follows shows that there is no
        gap, that batch is the one that is not sound.
        """
        next_offset = segment.base_offset
        doubted: FoundBatch | None = None
        try:
            for found in scan_batches(segment.file, 0, segment.size_bytes):
                _, header, batch = found
                self._require_sound(segment, header, batch, doubted[1].next_offset if doubted else next_offset)
                if doubted is not None:
                    yield doubted
                    next_offset = doubted[1].next_offset
                doubted = found if header.base_offset > next_offset else None
                if doubted is None:
                    yield found
                    next_offset = header.next_offset
        except CorruptRecords:
            if doubted is not None and not _refutes(segment, doubted, next_offset):
                yield doubted
            raise
        if doubted is not None:
            self._require_likely(doubted[1], next_offset, following_offset)
            yield doubted

    def _require_likely(self, last: BatchHeader, next_offset: int, following_offset: int | None) -> None:
        """Refuse a last batch after a gap if it reaches into the next segment, or past what was synced."""
        synced_to = self._synced_to
        if following_offset is not None:
            is_unlikely = last.next_offset > following_offset
        else:
            is_unlikely = next_offset < synced_to and (
                last.base_offset > synced_to or last.base_offset < synced_to < last.next_offset
            )
        if is_unlikely:
            raise CorruptRecords(f"a batch of offsets {last.base_offset} to {last.last_offset} is not where it belongs")

    def _require_sound(self, segment: Segment, header: BatchHeader, batch: memoryview, next_offset: int) -> None:
        is_far = header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        if is_far or header.base_offset < next_offset or header.last_offset_delta < 0:
            raise CorruptRecords(
                f"a batch of offsets {header.base_offset} to {header.last_offset} where {next_offset} is next"
            )
        if not crc_is_valid(batch, header):
            raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not match")

    def _drop_before_start(self) -> None:
        """Segments wholly before the log start offset were deleted, or about to be."""
        keep = 0
        while keep + 1 < len(self._segments) and self._segments[keep + 1].base_offset <= self._log_start_offset:
            keep += 1
        self._remove(self._segments[:keep])
        del self._segments[:keep]

    def _start_empty(self, base_offset: int) -> int:
        self._segments.append(
            Segment.create(
                SegmentFiles(self._file_system, self._directory, base_offset),
                index_interval_bytes=self._config.index_interval_bytes,
                created_ms=self._now_ms,
            )
        )
        return base_offset

    def _restore_producers(self, segments: list[Segment], start_offset: int, end_offset: int) -> None:
        self._snapshots.restore(
            self._producers, start_offset, end_offset, self._now_ms, self._config.producer_id_expiration_ms
        )
        start = self._producers.map_end_offset
        relevant = [
            segment
            for number, segment in enumerate(segments)
            if number + 1 == len(segments) or segments[number + 1].base_offset > start
        ]
        if start < end_offset:
            replay(self._producers, relevant, start, end_offset)

    def _remove(self, segments: list[Segment]) -> None:
        for segment in segments:
            segment.remove_files()
            self._snapshots.remove(segment.base_offset)


def _refutes(segment: Segment, doubted: FoundBatch, next_offset: int) -> bool:
    """Whether a sound batch follows a doubted one, with offsets that belong before it."""
    position = doubted[0] + doubted[1].size_bytes
    try:
        header = parse_header(segment.file.read(position, HEADER_BYTES))
        is_sound = crc_is_valid(segment.file.read(position, header.size_bytes), header)
    except CorruptRecords:
        return False
    return is_sound and next_offset <= header.base_offset < doubted[1].next_offset


def refuse_old_format(segment: Segment, position: int) -> None:
    """Raise UnsupportedSegment if a sound message of an older format begins here: it must not be cut off."""
    start = segment.file.read(position, _OLD_MESSAGE.size)
    if len(start) < _OLD_MESSAGE.size:
        return
    _, size, crc, magic = _OLD_MESSAGE.unpack(start)
    if not 0 <= magic < MAGIC or not 0 < size <= segment.size_bytes - position - LOG_OVERHEAD_BYTES:
        return
    message = segment.file.read(position + _OLD_CRC_START, size + LOG_OVERHEAD_BYTES - _OLD_CRC_START)
    if zlib.crc32(message) == crc:
        raise UnsupportedSegment(segment.path, magic)


def finish_swaps(file_system: FileSystem, directory: Path) -> None:
    """Settle what a compaction or a deletion left unfinished.

    `.cleaned` files belong to a compaction that did not complete: they are dropped, since its sources are intact. A
    `.log.swap` is complete: the segments whose offsets it covers are removed, then it takes their place. It is the last
    file of its segment to get or lose the suffix, so index files with the suffix but without a log belong to nothing.
    """
    names = file_system.list_directory(directory)
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX)):
            file_system.remove(directory / name)
    swaps = [name for name in names if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    for name in swaps:
        _remove_covered(file_system, directory, name)
    # Indexes first: an index that still has the suffix when its log has lost it would seem to belong to nothing.
    for name in sorted(names, key=lambda name: name in swaps):
        if name.endswith(SWAP_SUFFIX):
            if f"{name.partition('.')[0]}{LOG_SUFFIX}{SWAP_SUFFIX}" in swaps:
                file_system.rename(directory / name, directory / name.removesuffix(SWAP_SUFFIX))
            else:
                file_system.remove(directory / name)
    if swaps:
        file_system.sync_directory(directory)


def _remove_covered(file_system: FileSystem, directory: Path, swap_name: str) -> None:
    base_offset = offset_of(swap_name)
    assert base_offset is not None
    file = file_system.open(directory / swap_name)
    end_offset = base_offset
    for _, header, _ in scan_batches(file, 0, file.size()):
        end_offset = header.next_offset
    names = file_system.list_directory(directory)
    # A log is removed after its indexes. If the log of this name is gone, the indexes are already the new segment's.
    has_source = swap_name.removesuffix(SWAP_SUFFIX) in names
    for name in sorted(names, key=lambda name: name.endswith(LOG_SUFFIX)):
        offset = offset_of(name)
        if offset is None or not name.endswith(SEGMENT_SUFFIXES) or not base_offset <= offset < end_offset:
            continue
        if offset > base_offset or has_source:
            file_system.remove(directory / name)


def load_log(
    file_system: FileSystem, directory: Path, config: LogConfig, checkpoint: LogCheckpoint, *, now_ms: int
) -> LoadedLog:
    """Open the log in a directory, which must exist; reads and, after a crash, repairs files."""
    return _Loader(file_system, directory, config, checkpoint, now_ms).load()
