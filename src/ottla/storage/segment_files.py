"""The files of a log, under Kafka's names, so that its tools can read them.

A segment is named after its first offset in twenty digits. `.deleted` marks files that wait for their removal,
`.cleaned` the output of a compaction that has not finished, `.swap` one that has finished and takes the place of its
sources.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from ottla.storage.file_system import FileSystem

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SEGMENT_SUFFIXES = (LOG_SUFFIX, *INDEX_SUFFIXES)

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
TRANSACTION_CHECKPOINT = "transaction-index-checkpoint"
PARTITION_METADATA = "partition.metadata"

_OFFSET_DIGITS = 20


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """The path of one file of a segment; suffixes may be joined, as in `.log.swap`."""
    return directory / f"{base_offset:0{_OFFSET_DIGITS}d}{suffix}"


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The files of one segment, all of which may have one more suffix: `.deleted`, `.cleaned` or `.swap`."""

    file_system: FileSystem
    directory: Path
    base_offset: int
    suffix: str = ""

    def path(self, part: str) -> Path:
        """The path of the batches or of one index, which `part` names."""
        return segment_path(self.directory, self.base_offset, part + self.suffix)

    def rename(self, suffix: str) -> "SegmentFiles":
        """Give those that exist another suffix ("" is none), the file of batches last."""
        renamed = replace(self, suffix=suffix)
        for part in reversed(SEGMENT_SUFFIXES):
            if self.file_system.file_size(self.path(part)) is not None:
                self.file_system.rename(self.path(part), renamed.path(part))
        return renamed

    def remove(self) -> None:
        """Remove all of them; reads under way in other threads end normally."""
        for part in SEGMENT_SUFFIXES:
            self.file_system.remove(self.path(part))


def is_segment_name(name: str) -> bool:
    """Whether a file is named as the batches of a segment are."""
    digits = name.removesuffix(LOG_SUFFIX)
    return digits != name and len(digits) == _OFFSET_DIGITS and offset_of(name) is not None


def offset_of(name: str) -> int | None:
    """The offset in a file's name, None if the name does not begin with one."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None
