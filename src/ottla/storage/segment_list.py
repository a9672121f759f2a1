"""The segments of a log as one structure: which there are, which one is active, and which are being removed.

Changes are made by one caller at a time, who holds the lock of the log. Readers in other threads hold no lock. They
take `view`, the list and the positions that belong to it, and `version`, which is odd while segments are being taken
away and changes with each such step. What they read counts if the version was even and is still the same; otherwise,
and after an error, they wait for the lock and start over. An error under an unchanged version is a real one.
`consistently` does this for any lookup.

`truncation_count` grows with each truncation, so that a flush or a compaction that overlaps one leaves no trace.

There is always a last, active segment; it is empty in an empty log.

`incoming` is the output of a compaction whose files end in `.swap` already, while the directory is synced. A start that
finds such files lets them take the place of their sources. So a change that drops records removes them first, or the
records would come back.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedIndex, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log_access import LogAccess
from ottla.storage.log_reading import Positions
from ottla.storage.open_segments import OpenSegments
from ottla.storage.segment import Segment
from ottla.storage.segment_files import DELETED_SUFFIX, SegmentFiles

Found = TypeVar("Found")

# More segments than this are taken away in several steps: an append waits while their files are renamed.
TAKEN_AT_ONCE_MAX = 16


class SegmentList:
    """The segments of one log, oldest first."""

    __slots__ = (
        "_access",
        "_awaiting_removal",
        "_file_system",
        "_open",
        "_truncated_to",
        "active",
        "incoming",
        "truncation_count",
        "version",
        "view",
    )

    def __init__(
        self, file_system: FileSystem, access: LogAccess, segments: list[Segment], log_end_offset: int
    ) -> None:
        self._file_system = file_system
        self._access = access
        self.active = segments[-1]
        self._open = OpenSegments(self.active)
        self.view = (segments, Positions(log_end_offset, self.active, self._open))
        self.version = 0
        self.truncation_count = 0
        # Where truncations since the last `take_truncation` cut the log back to, at the lowest.
        self._truncated_to: int | None = None
        self.incoming: Segment | None = None
        self._awaiting_removal: list[tuple[int, Segment]] = []

    @property
    def segments(self) -> list[Segment]:
        return self.view[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds an offset and all after it."""
        return self.segments[max(self._number_of(offset), 0) :]

    def unsynced_from(self, recovery_point: int) -> list[Segment]:
        """Those that a sync is about, if everything below the recovery point is on the disk.

        The one before them as well if something was cut off there, half a batch or what a truncation took away:
        otherwise a power cut might bring that back, and a start would find it before the batches of the next segment.
        """
        number = max(self._number_of(recovery_point), 0)
        if number and self.segments[number - 1].has_unsynced_cut:
            number -= 1
        return self.segments[number:]

    def bytes_from(self, offset: int) -> int:
        """The bytes of the batches from an offset on, or more: as exact as the indexes that are in memory."""
        segments = self.from_offset(offset)
        first = segments[0]
        entry = first.offset_index.entry_before(offset) if first.is_loaded else None
        skipped = entry.position if entry else 0
        return sum(segment.size_bytes for segment in segments) - skipped

    # Reading without the lock.

    def is_unchanged(self, version: int) -> bool:
        """Whether nothing has been taken away since a reader saw this version, nor is being now; never waits."""
        return version == self.version and not version & 1

    def stays_unchanged(self, version: int) -> bool:
        """Whether no segment was taken away since a reader saw this version; waits for what is under way."""
        with self._access.lock:
            return version == self.version

    def consistently(self, lookup: Callable[[list[Segment]], Found]) -> Found:
        """Run a lookup over all segments; it starts over if some of them are taken away meanwhile."""
        while True:
            version = self.version
            self._access.require()
            try:
                found = lookup(self.segments)
            except DamagedIndex as damage:
                self.repair_indexes(damage)
                continue
            except (StorageError, CorruptRecords):
                if self.stays_unchanged(version):
                    raise
                continue
            if self.is_unchanged(version) or self.stays_unchanged(version):
                return found

    def repair_indexes(self, damage: DamagedIndex) -> None:
        """Rebuild the indexes of a segment that a lookup found damaged; nobody appends meanwhile."""
        with self._access.changing():
            for segment in self.segments:
                if segment.path == damage.path:
                    segment.repair_indexes()

    # Changes.

    def roll(self, base_offset: int, index_interval_bytes: int, now_ms: int) -> None:
        """Begin a new active segment; the old one, already sealed, stays unless it is empty."""
        previous = self.active
        active = self._create(base_offset, index_interval_bytes, now_ms)
        segments, positions = self.view
        positions.remember(base_offset, active, 0)
        self._activate(active)
        self.view = ([*(segments if previous.size_bytes else segments[:-1]), active], positions)
        if previous.size_bytes:
            self._open.note(previous)
        else:
            previous.remove_files()

    def note_loaded(self) -> None:
        """Note sealed segments that a lookup loaded, so that they are unloaded in time."""
        for segment in self.segments[:-1]:
            if segment.is_open:
                self._open.note(segment)

    def truncate_to(self, offset: int) -> None:
        """Drop everything from an offset on, which is not before the first segment.

        The newest is removed first, so that a crash in between leaves no gap.
        """
        self._refuse_incoming()
        keep = self._number_of(offset) + 1
        kept = self.segments[:keep]
        with self._taking_away():
            for segment in reversed(self.segments[keep:]):
                segment.remove_files()
            self._activate(kept[-1])
            self.active.truncate_to(offset)
            self.view = (kept, self.view[1].renewed(offset, self.active))
        self._note_truncation(offset)

    def restart_at(self, offset: int, index_interval_bytes: int, now_ms: int) -> None:
        """Drop everything; one empty segment begins at an offset."""
        self._refuse_incoming()
        with self._taking_away():
            for segment in reversed(self.segments):
                segment.remove_files()
            self._activate(self._create(offset, index_interval_bytes, now_ms))
            self.view = ([self.active], self.view[1].renewed(offset, self.active))
        self._note_truncation(offset)

    def _note_truncation(self, offset: int) -> None:
        self.truncation_count += 1
        self._truncated_to = offset if self._truncated_to is None else min(offset, self._truncated_to)

    def take_truncation(self) -> int | None:
        """Take the lowest offset that the log was truncated to since the last call; None if it was not truncated."""
        truncated_to, self._truncated_to = self._truncated_to, None
        return truncated_to

    def before(self, offset: int) -> list[Segment]:
        """The segments that end before or at an offset."""
        return self.segments[: max(self._number_of(offset), 0)]

    def drop(self, doomed: list[Segment], log_end_offset: int, removal_ms: int) -> None:
        """Take segments out; their files are marked and removed later."""
        self._refuse_incoming()
        segments, positions = self.view
        gone = set(doomed)
        left = [segment for segment in segments if segment not in gone]
        with self._taking_away():
            self._discard(doomed, removal_ms)
            self.view = (left, positions.renewed(log_end_offset, self.active))

    def contains(self, wanted: list[Segment]) -> bool:
        return set(wanted) <= set(self.segments)

    def replace(self, old: list[Segment], new: Segment, log_end_offset: int, removal_ms: int) -> None:
        """Put the incoming segment in the place of neighbours."""
        segments, positions = self.view
        first = segments.index(old[0])
        replaced = [*segments[:first], new, *segments[first + len(old) :]]
        with self._taking_away():
            self._discard(old, removal_ms)
            new.rename("")
            new.unload()
            self.incoming = None
            self.view = (replaced, positions.renewed(log_end_offset, self.active))

    def _refuse_incoming(self) -> None:
        if self.incoming is not None:
            self.incoming.remove_files()
            self.incoming = None

    def abandon(self) -> None:
        """Let go of all files; readers notice."""
        with self._taking_away():
            for segment in self.segments:
                segment.unload()

    @property
    def has_deleted(self) -> bool:
        """Whether files of dropped segments are still there."""
        return bool(self._awaiting_removal)

    def take_due(self, now_ms: int) -> list[Segment]:
        """The dropped segments whose files may be removed now."""
        due = [segment for removal_ms, segment in self._awaiting_removal if removal_ms <= now_ms]
        self._awaiting_removal = [entry for entry in self._awaiting_removal if entry[0] > now_ms]
        return due

    @contextmanager
    def _taking_away(self) -> Iterator[None]:
        self.version += 1
        try:
            yield
        finally:
            self.version += 1

    def _activate(self, segment: Segment) -> None:
        self._open.activate(segment)
        self.active = segment

    def _discard(self, segments: list[Segment], removal_ms: int) -> None:
        for segment in segments:
            segment.rename(DELETED_SUFFIX)
            segment.unload()
            self._awaiting_removal.append((removal_ms, segment))

    def _create(self, base_offset: int, index_interval_bytes: int, now_ms: int) -> Segment:
        return Segment.create(
            SegmentFiles(self._file_system, self._access.directory, base_offset),
            index_interval_bytes=index_interval_bytes,
            created_ms=now_ms,
        )

    def _number_of(self, offset: int) -> int:
        return bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1
