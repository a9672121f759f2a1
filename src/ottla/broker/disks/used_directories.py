"""Whether a directory without a meta.properties was in use: then it belongs to a cluster, and nothing says to which.

Formatting writes meta.properties last, so a directory that a crash left half formatted holds the first snapshot at
most. A later one, or a log, of the metadata or of a topic's partition, shows that a node ran there.
"""

from pathlib import Path

from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.format import FIRST_SNAPSHOT, METADATA_PARTITION_DIRECTORY
from ottla.raft import OffsetAndEpoch
from ottla.storage.file_system import FileSystem
from ottla.storage.partition_directories import parse_partition_directory
from ottla.storage.segment_files import is_segment_name


def signs_of_use(file_system: FileSystem, path: Path) -> str | None:
    """What a node has left in a directory, in words; None if it is free to be formatted."""
    if not file_system.is_directory(path):
        return None
    count = sum(
        name != METADATA_PARTITION_DIRECTORY
        and parse_partition_directory(name) is not None
        and _has_log(file_system, path / name)
        for name in file_system.list_directory(path)
    )
    found = [_metadata(file_system, path), "1 partition" if count == 1 else f"{count} partitions" if count else None]
    return " and ".join(filter(None, found)) or None


def has_metadata(file_system: FileSystem, path: Path) -> bool:
    """Whether a node has left metadata in a directory that it can continue with."""
    return _metadata(file_system, path) is not None


def has_snapshot(file_system: FileSystem, path: Path) -> bool:
    """Whether the metadata of a directory has a snapshot, which is where the voters of a quorum are named."""
    return bool(_snapshots(file_system, path))


def voting_directory_id(file_system: FileSystem, path: Path, node_id: int) -> bytes | None:
    """The id under which a used metadata directory votes for its node; None for a quorum whose voters are fixed."""
    files = SnapshotFiles(file_system, path / METADATA_PARTITION_DIRECTORY)
    snapshots = _snapshots(file_system, path)
    voters = files.read(snapshots[-1]).voters if snapshots else None
    key = None if voters is None else voters.key_of(node_id)
    return None if key is None else key.directory_id


def _has_log(file_system: FileSystem, path: Path) -> bool:
    return file_system.is_directory(path) and any(map(is_segment_name, file_system.list_directory(path)))


def _metadata(file_system: FileSystem, path: Path) -> str | None:
    if _has_log(file_system, path / METADATA_PARTITION_DIRECTORY):
        return "a metadata log"
    return "a metadata snapshot" if _snapshots(file_system, path) not in ([], [FIRST_SNAPSHOT]) else None


def _snapshots(file_system: FileSystem, path: Path) -> list[OffsetAndEpoch]:
    directory = path / METADATA_PARTITION_DIRECTORY
    return SnapshotFiles(file_system, directory).list() if file_system.is_directory(directory) else []
