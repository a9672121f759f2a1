"""Opening a log: from whatever files a shutdown or a crash left, to a sound list of segments.

What a crash may leave: half a batch at the end, or a hole in the middle of what was not synced; indexes that are
missing, short or ahead of the log; files of a compaction that had begun (`.cleaned`) or was being put in place
(`.swap`); files marked `.deleted`. What is promised: everything below the recovery point is there as it was
acknowledged to the disk, and above it the log continues up to the first byte that is not sound. There it is cut, and
later segments are dropped; so they are after a gap between two segments, unless the log is compacted.

After a clean shutdown the segments are taken as they are, and only the end of the last one is read.
"""

import logging
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from ottla.protocol.record_batch import LOG_OVERHEAD_BYTES, MAGIC, BatchHeader, crc_is_valid
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
    offset_of,
    segment_path,
)
from ottla.storage.segment_scan import scan_batches

_log = logging.getLogger(__name__)

# Offset, size, CRC-32 and magic of a message in the formats before version 2; the CRC covers all from the magic on.
_OLD_MESSAGE = struct.Struct(">qiIb")
_OLD_CRC_START = 16


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


class _Loader:
    """The steps of opening one log, in their order."""

    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        config: LogConfig,
        *,
        log_start_offset: int,
        recovery_point: int,
        was_clean: bool,
        now_ms: int,
    ) -> None:
        self._file_system = file_system
        self._directory = directory
        self._config = config
        self._log_start_offset = log_start_offset
        self._recovery_point = recovery_point
        self._was_clean = was_clean
        self._now_ms = now_ms
        self._epochs = LeaderEpochs(file_system, directory / LEADER_EPOCH_CHECKPOINT)
        self._producers = ProducerStates(directory.name)
        self._snapshots = ProducerSnapshots(file_system, directory)
        self._segments: list[Segment] = []

    def load(self) -> LoadedLog:
        finish_swaps(self._file_system, self._directory)
        if not self._epochs.load():
            # The epochs can be found in the batches, if all of them are read.
            self._was_clean = False
            self._recovery_point = 0
        self._segments = self._find_segments()
        end_offset = self._trust_segments() if self._was_clean else self._recover_segments()
        self._drop_before_start()
        if not self._segments:
            end_offset = self._start_empty(max(self._log_start_offset, 0))
        start_offset = max(self._log_start_offset, self._segments[0].base_offset)
        if start_offset > end_offset:
            # Records were deleted up to an offset that the crash took away again: the log begins anew there.
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
            self._file_system,
            self._directory,
            base_offset,
            size,
            index_interval_bytes=self._config.index_interval_bytes,
            created_ms=self._now_ms,
        )

    def _trust_segments(self) -> int:
        for segment in self._segments[:-1]:
            if self._has_damaged_transactions(segment):
                _log.warning("the transaction index of %s is damaged, the log is recovered", segment.path)
                return self._distrust(segment)
        if not self._segments:
            return self._log_start_offset
        try:
            return self._segments[-1].read_end()[0]
        except (CorruptRecords, DamagedFile) as error:
            _log.warning("%s does not end well in spite of a clean shutdown: %s", self._segments[-1].path, error)
            return self._distrust(self._segments[-1])

    def _distrust(self, segment: Segment) -> int:
        self._was_clean = False
        self._recovery_point = min(self._recovery_point, segment.base_offset)
        return self._recover_segments()

    def _has_damaged_transactions(self, segment: Segment) -> bool:
        path = segment_path(self._directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
        if self._file_system.file_size(path) is None:
            return False
        try:
            return segment.transaction_index is None
        except DamagedFile:
            return True

    def _recover_segments(self) -> int:
        """Scan every segment that may hold something not synced; the end of what is sound."""
        end_offset = self._segments[0].base_offset if self._segments else self._log_start_offset
        has_producers = False
        for number, segment in enumerate(self._segments):
            is_last = number + 1 == len(self._segments)
            if not is_last and self._segments[number + 1].base_offset <= self._recovery_point:
                end_offset = self._segments[number + 1].base_offset
                continue
            if not has_producers:
                self._restore_producers(self._segments[:number], self._log_start_offset, segment.base_offset)
                has_producers = True
            elif segment.base_offset > end_offset and not self._config.is_compacted:
                _log.warning("dropping %s and what follows: the log before it ends at %d", segment.path, end_offset)
                self._drop_from(number)
                break
            end_offset, is_whole = self._recover_segment(segment)
            if not is_whole:
                self._drop_from(number + 1)
                break
        return end_offset

    def _drop_from(self, number: int) -> None:
        """Drop the later segments, the newest first, so that a crash meanwhile makes no gap."""
        self._remove(self._segments[number:][::-1])
        del self._segments[number:]

    def _recover_segment(self, segment: Segment) -> tuple[int, bool]:
        """Rebuild the indexes of a segment and cut it at the first damage; its end, and whether nothing was cut."""
        segment.clear_indexes()
        segment.clear_transaction_index()
        next_offset = segment.base_offset
        valid_bytes = 0
        try:
            for position, header, batch in scan_batches(segment.file, 0, segment.size_bytes):
                self._require_sound(segment, header, batch, next_offset)
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
        self._producers.map_end_offset = next_offset
        segment.seal()
        return next_offset, is_whole

    def _require_sound(self, segment: Segment, header: BatchHeader, batch: memoryview, next_offset: int) -> None:
        is_far = header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        if is_far or header.base_offset < next_offset or header.last_offset_delta < 0:
            raise CorruptRecords(
                f"a batch of offsets {header.base_offset} to {header.last_offset} where {next_offset} is next"
            )
        if not crc_is_valid(batch, header):
            raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not fit")

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
                self._file_system,
                self._directory,
                base_offset,
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


def refuse_old_format(segment: Segment, position: int) -> None:
    """UnsupportedSegment if a sound message of an older format begins at a position: it must not be cut off."""
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

    `.cleaned` files are of a compaction that had not completed: its sources are intact, they are dropped. A
    `.log.swap` is complete: the segments whose offsets it covers go, then it takes their place. It is the last file of
    its segment to get or lose the suffix, so index files with the suffix alone belong to nothing.
    """
    names = file_system.list_directory(directory)
    for name in names:
        if name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX)):
            file_system.remove(directory / name)
    swaps = [name for name in names if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    for name in swaps:
        _remove_covered(file_system, directory, name)
    for name in names:
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
    for name in file_system.list_directory(directory):
        offset = offset_of(name)
        if offset is not None and name.endswith(SEGMENT_SUFFIXES) and base_offset <= offset < end_offset:
            file_system.remove(directory / name)


def load_log(
    file_system: FileSystem,
    directory: Path,
    config: LogConfig,
    *,
    log_start_offset: int,
    recovery_point: int,
    was_clean: bool,
    now_ms: int,
) -> LoadedLog:
    """Open the log in a directory, which must exist; reads and, after a crash, repairs files."""
    loader = _Loader(
        file_system,
        directory,
        config,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        was_clean=was_clean,
        now_ms=now_ms,
    )
    return loader.load()
