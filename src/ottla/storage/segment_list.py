"""The segments of a log as one structure: which there are, which one grows, and which are on their way out.

Every change replaces `segments` and `positions` instead of editing them, so that a reader in another thread goes on
with what it had. Changes are made by one caller at a time, who holds the lock of the log. There is always a last,
active segment; it is empty in an empty log.
"""

from bisect import bisect_right
from pathlib import Path

from ottla.storage.file_system import FileSystem
from ottla.storage.log_reading import Positions
from ottla.storage.segment import Segment
from ottla.storage.segment_files import DELETED_SUFFIX


class SegmentList:
    """The segments of one log, oldest first."""

    __slots__ = ("_awaiting_removal", "_directory", "_file_system", "active", "positions", "segments")

    def __init__(self, file_system: FileSystem, directory: Path, segments: list[Segment], log_end_offset: int) -> None:
        self._file_system = file_system
        self._directory = directory
        self.segments = segments
        self.active = segments[-1]
        self.positions = Positions(log_end_offset, self.active)
        self._awaiting_removal: list[tuple[int, Segment]] = []

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds an offset and all after it."""
        return self.segments[max(self._number_of(offset), 0) :]

    def roll(self, base_offset: int, index_interval_bytes: int, now_ms: int) -> None:
        """Begin a new active segment; the old one, already sealed, stays unless it is empty."""
        previous = self.active
        self.active = self._create(base_offset, index_interval_bytes, now_ms)
        kept = self.segments if previous.size_bytes else self.segments[:-1]
        self.segments = [*kept, self.active]
        if not previous.size_bytes:
            previous.remove_files()
        self.positions.remember(base_offset, self.active, 0)

    def truncate_to(self, offset: int) -> None:
        """Drop everything from an offset on, which is not before the first segment."""
        keep = self._number_of(offset) + 1
        removed = self.segments[keep:]
        self.segments = self.segments[:keep]
        self.active = self.segments[-1]
        for segment in removed:
            segment.remove_files()
        self.active.truncate_to(offset)
        self.positions = Positions(offset, self.active)

    def restart_at(self, offset: int, index_interval_bytes: int, now_ms: int) -> None:
        """Drop everything; one empty segment begins at an offset."""
        for segment in self.segments:
            segment.remove_files()
        self.active = self._create(offset, index_interval_bytes, now_ms)
        self.segments = [self.active]
        self.positions = Positions(offset, self.active)

    def before(self, offset: int) -> list[Segment]:
        """The segments that end before or at an offset."""
        return self.segments[: max(self._number_of(offset), 0)]

    def drop(self, doomed: list[Segment], log_end_offset: int, removal_ms: int) -> None:
        """Take segments out; their files are marked and removed later."""
        self.segments = [segment for segment in self.segments if segment not in doomed]
        self.positions = self.positions.renewed(log_end_offset, self.active)
        self._discard(doomed, removal_ms)

    def contains(self, wanted: list[Segment]) -> bool:
        return set(wanted) <= set(self.segments)

    def replace(self, old: list[Segment], new: Segment, log_end_offset: int, removal_ms: int) -> None:
        """Put one segment, whose files end in `.swap`, in the place of neighbours."""
        first = self.segments.index(old[0])
        self.segments = [*self.segments[:first], new, *self.segments[first + len(old) :]]
        self.positions = self.positions.renewed(log_end_offset, self.active)
        self._discard(old, removal_ms)
        new.rename("")
        new.unload()

    def take_due(self, now_ms: int) -> list[Segment]:
        """The dropped segments whose files may be removed now."""
        due = [segment for removal_ms, segment in self._awaiting_removal if removal_ms <= now_ms]
        self._awaiting_removal = [entry for entry in self._awaiting_removal if entry[0] > now_ms]
        return due

    def _discard(self, segments: list[Segment], removal_ms: int) -> None:
        for segment in segments:
            segment.rename(DELETED_SUFFIX)
            segment.unload()
            self._awaiting_removal.append((removal_ms, segment))

    def _create(self, base_offset: int, index_interval_bytes: int, now_ms: int) -> Segment:
        return Segment.create(
            self._file_system,
            self._directory,
            base_offset,
            index_interval_bytes=index_interval_bytes,
            created_ms=now_ms,
        )

    def _number_of(self, offset: int) -> int:
        return bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1
