"""Bringing producer state up to date from the log: from the newest usable snapshot, then batch by batch.

And back from there: `recall` finds the batches of one producer that a snapshot leaves out. It reads headers in blocks,
from one index entry to the next, the last block first, and reads no further block after RECALLED_HEADERS_MAX headers or
RECALLED_BYTES_MAX of log. A block is read from its start, so the batches that are nearest come at its end: it is always
read whole, which costs what any lookup of an offset costs.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from ottla.protocol.compression import Buffer
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import BatchHeader
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem
from ottla.storage.producer_snapshot import decode_snapshot
from ottla.storage.producer_state import BATCHES_REMEMBERED, ProducerBatch, ProducerState, ProducerStates
from ottla.storage.segment import Segment
from ottla.storage.segment_files import SNAPSHOT_SUFFIX, offset_of, segment_path
from ottla.storage.segment_scan import LOOKUP_CHUNK_BYTES, scan_headers
from ottla.storage.transaction_index import AbortedTransaction

_log = logging.getLogger(__name__)

# A client repeats what it had under way when the node stopped: at most five batches, sent within one round trip. The
# others that wrote meanwhile had at most five under way as well, so this is enough for forty producers of a partition.
# More would cost too much: all producers may repeat at once after a restart, and `recall` runs where appends run, which
# is on the event loop if there is only one disk.
RECALLED_HEADERS_MAX = 40 * BATCHES_REMEMBERED
RECALLED_BYTES_MAX = 16 * 1024 * 1024


def apply_batch(
    producers: ProducerStates, header: BatchHeader, base_offset: int, batch: Buffer
) -> AbortedTransaction | None:
    """Account for an appended batch of a producer; returns the aborted transaction if the batch is its marker.

    Only the bytes of control batches are read.
    """
    if not header.is_control:
        producers.update(header, base_offset)
        return None
    marker = parse_end_txn_marker(batch, header)
    if marker is None:
        return None
    ended = producers.end_transaction(
        header, base_offset, is_commit=marker.is_commit, coordinator_epoch=marker.coordinator_epoch
    )
    if ended is None or not ended.is_aborted:
        return None
    return AbortedTransaction(
        ended.producer_id, ended.first_offset, ended.last_offset, producers.stable_offset_after(ended)
    )


def replay(producers: ProducerStates, segments: Iterable[Segment], start_offset: int, end_offset: int) -> None:
    """Apply the batches between two offsets; transaction indexes stay as they are.

    Damage in a segment hides what follows it there. Readers of that part get an error; everything else must be served.
    """
    for segment in segments:
        if segment.size_bytes == 0:
            continue
        try:
            _replay_segment(producers, segment, start_offset, end_offset)
        except CorruptRecords as damage:
            _log.warning(
                "%s is damaged: %s. What producers wrote after that is not remembered: a duplicate of it would not "
                "be noticed",
                segment.path,
                damage,
            )
    producers.map_end_offset = max(producers.map_end_offset, end_offset)


def _replay_segment(producers: ProducerStates, segment: Segment, start_offset: int, end_offset: int) -> None:
    file = segment.file
    start = segment.look_up(segment.position_before, start_offset)
    for position, header in scan_headers(file, start, segment.size_bytes):
        if header.base_offset >= end_offset:
            break
        if header.base_offset >= start_offset and header.has_producer_id:
            batch = file.read(position, header.size_bytes) if header.is_control else b""
            apply_batch(producers, header, header.base_offset, batch)


def recall(segments: list[Segment], state: ProducerState) -> list[ProducerBatch]:
    """The batches of a producer's epoch that are older than those remembered, newest first: up to a full window."""
    wanted = BATCHES_REMEMBERED - len(state.batches)
    found: list[ProducerBatch] = []
    try:
        for header in _headers_before(segments, state.batches[0].first_offset):
            if header.producer_id != state.producer_id or header.is_control:
                continue
            if header.producer_epoch != state.epoch:
                break
            delta = header.last_offset_delta
            found.append(
                ProducerBatch(
                    header.base_sequence, header.last_sequence, header.last_offset, delta, header.max_timestamp
                )
            )
            if len(found) == wanted:
                break
    except CorruptRecords as damage:
        _log.warning("the batches that producer %d wrote before are not found: %s", state.producer_id, damage)
    return found


def _headers_before(segments: list[Segment], offset: int) -> Iterator[BatchHeader]:
    """The headers of the batches before an offset, backwards, as long as they are near."""
    headers_left, bytes_left = RECALLED_HEADERS_MAX, RECALLED_BYTES_MAX
    for segment in reversed(segments):
        if segment.base_offset >= offset:
            continue
        end, start = segment.size_bytes, segment.look_up(segment.position_before, offset)
        while True:
            block: list[BatchHeader] = []
            for _, header in scan_headers(segment.file, start, end, chunk_bytes=LOOKUP_CHUNK_BYTES):
                if header.base_offset >= offset:
                    break
                block.append(header)
                bytes_left -= header.size_bytes
            yield from reversed(block)
            headers_left -= len(block)
            if headers_left <= 0 or bytes_left <= 0:
                return
            if start == 0:
                break
            end, start = start, segment.look_up(segment.batch_start_before, start - 1)


class ProducerSnapshots:
    """The snapshot files of one log."""

    def __init__(self, file_system: FileSystem, directory: Path) -> None:
        self._file_system = file_system
        self._directory = directory

    def offsets(self) -> list[int]:
        """The offsets for which there is a snapshot, ascending."""
        names = self._file_system.list_directory(self._directory)
        return sorted(
            offset for name in names if name.endswith(SNAPSHOT_SUFFIX) and (offset := offset_of(name)) is not None
        )

    def write(self, producers: ProducerStates, offset: int, *, sync: bool) -> None:
        """Store the state as it is at an offset."""
        path = segment_path(self._directory, offset, SNAPSHOT_SUFFIX)
        self._file_system.write_file(path, producers.to_snapshot(), sync=sync)

    def restore(
        self, producers: ProducerStates, start_offset: int, end_offset: int, now_ms: int, expiration_ms: int
    ) -> None:
        """Load the newest snapshot between two offsets; a damaged one is removed and the one before it used."""
        for offset in reversed(self.offsets()):
            path = segment_path(self._directory, offset, SNAPSHOT_SUFFIX)
            if offset > end_offset:
                continue
            if offset < start_offset:
                break
            try:
                entries = decode_snapshot(path, self._file_system.read_file(path) or b"")
            except DamagedFile as error:
                _log.warning("%s; using an older snapshot or the log instead", error)
                self._file_system.remove(path)
                continue
            producers.load_entries(entries, offset, now_ms, expiration_ms)
            return
        producers.clear(start_offset)

    def remove_after(self, offset: int) -> None:
        """Remove the snapshots of offsets that the log no longer reaches."""
        for later in self.offsets():
            if later > offset:
                self.remove(later)

    def keep_only(self, offsets: set[int]) -> None:
        """Remove the snapshots of other offsets, except the newest."""
        for offset in self.offsets()[:-1]:
            if offset not in offsets:
                self.remove(offset)

    def remove(self, offset: int) -> None:
        """Remove one snapshot, if it is there."""
        self._file_system.remove(segment_path(self._directory, offset, SNAPSHOT_SUFFIX))

    def remove_all(self) -> None:
        """Remove every snapshot."""
        for offset in self.offsets():
            self.remove(offset)
