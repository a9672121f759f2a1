"""What can go wrong on a disk, and whose fault it is."""

from collections.abc import Sequence
from pathlib import Path

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.records import CorruptRecords


class StorageError(Exception):
    """The operating system refused an operation in a log directory: take that directory, and no other, offline."""

    def __init__(self, log_dir: Path, operation: str, path: Path, cause: str) -> None:
        super().__init__(f"cannot {operation} {path}: {cause} (log directory {log_dir})")
        self.log_dir = log_dir


class DiskFull(StorageError):
    """There is no space left: this write failed, what was written before is sound, and reads go on.

    The directory stays online. Kafka takes it offline until a restart; here writes are refused until there is space.
    """


class LogGone(ApiError):
    """The log was deleted, moved away or given up while someone still held it; no disk is to blame.

    A client that gets this error looks the partition up again.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"the log {directory} is gone: it was deleted, moved away or lost with its directory",
        )


class LogOffline(Exception):
    """A log is missing while a directory is offline: it is probably there, and must not start empty elsewhere."""

    def __init__(self, topic: str, partition: int, away: Sequence[str]) -> None:
        super().__init__(
            f"the log of {topic}-{partition} is in no online directory; it may be in {' or '.join(away)}. "
            "Bring that back and restart the broker; only if it is lost for good, delete the topic."
        )


class DifferentLogs(Exception):
    """A partition has two logs that are not copies of each other: only the operator knows which one is right."""

    def __init__(self, topic: str, partition: int, first: Path, second: Path) -> None:
        super().__init__(
            f"{topic}-{partition} is in {first.parent} and in {second.parent}, with different records. Look at both "
            f"(`ottla log dump`), and move the directory {first.name} that is wrong out of its log directory."
        )


class UnsupportedSegment(Exception):
    """A segment holds batches of the old message formats, which Kafka 4 and this broker no longer read."""

    def __init__(self, path: Path, magic: int) -> None:
        super().__init__(
            f"{path} holds messages of format version {magic}; only version 2 is supported. "
            f"Convert the topic with a Kafka 3.x broker first, or remove the partition's directory."
        )


class DamagedBatch(CorruptRecords):
    """A batch of a segment is damaged; it begins, or should begin, at this position of the file."""

    def __init__(self, path: Path, position: int, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.position = position


class DirectoryInUse(Exception):
    """Another process holds the lock of a log directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"log directory {path.parent} is in use by another process, which holds the lock on {path}")


class DamagedFile(Exception):
    """A small file (checkpoint, snapshot, meta.properties) does not hold what it must."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} is damaged: {what}")
        self.path = path


class DamagedIndex(Exception):
    """An index file disagrees with the log; the holder of the log's lock must rebuild it."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"an index of {path} does not match its batches")
        self.path = path
