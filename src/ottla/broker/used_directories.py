"""Whether a directory without a meta.properties was in use: then it belongs to somebody, and nothing says to whom.

Formatting writes meta.properties last, so a directory that a crash left half formatted holds snapshots at most. A log,
of the metadata or of a topic's partition, shows that a node ran there.
"""

from pathlib import Path

from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.storage.file_system import FileSystem
from ottla.storage.partition_directories import parse_partition_directory


def signs_of_use(file_system: FileSystem, path: Path) -> str | None:
    """What a node has left in a directory, in words; None if it is free to be formatted."""
    if not file_system.is_directory(path):
        return None
    used = [
        name
        for name in file_system.list_directory(path)
        if parse_partition_directory(name) is not None and _has_log(file_system, path / name)
    ]
    count = len(used) - (METADATA_PARTITION_DIRECTORY in used)
    found = ["a metadata log"] if METADATA_PARTITION_DIRECTORY in used else []
    if count:
        found.append("1 partition" if count == 1 else f"{count} partitions")
    return " and ".join(found) or None


def voting_directory_id(file_system: FileSystem, path: Path, node_id: int) -> bytes | None:
    """The id under which a used metadata directory votes for its node; None for a quorum whose voters are fixed."""
    files = SnapshotFiles(file_system, path / METADATA_PARTITION_DIRECTORY)
    snapshots = files.list()
    voters = files.read(snapshots[-1]).voters if snapshots else None
    key = None if voters is None else voters.key_of(node_id)
    return None if key is None else key.directory_id


def _has_log(file_system: FileSystem, path: Path) -> bool:
    return file_system.is_directory(path) and any(name.endswith(".log") for name in file_system.list_directory(path))
