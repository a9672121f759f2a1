"""Small text files that say how far something has come, in Kafka's format, replaced atomically.

A file is a version line, a line with the number of entries, and one line per entry. It is written under another
name, synced, renamed over the old one, and the directory is synced: after a crash there is the old file or the new one.
"""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.errors import DamagedFile, DiskFull
from ottla.storage.file_system import FileSystem

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

_VERSION = 0


def write_atomically(file_system: FileSystem, path: Path, data: bytes) -> None:
    """Replace a file, so that a crash leaves the old contents or the new; one caller per file at a time."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        file_system.write_file(temporary, data, sync=True)
    except DiskFull:
        file_system.remove(temporary)
        raise
    file_system.rename(temporary, path)
    file_system.sync_directory(path.parent)


def encode_checkpoint(lines: Iterable[str]) -> bytes:
    """The contents of a checkpoint file."""
    entries = list(lines)
    return "".join(f"{line}\n" for line in (str(_VERSION), str(len(entries)), *entries)).encode()


def decode_checkpoint(path: Path, data: bytes) -> list[list[str]]:
    """The fields of each entry; DamagedFile if the file does not hold together."""
    if not data:
        # A checkpoint that never had an entry is an empty file in Kafka.
        return []
    try:
        lines = data.decode().splitlines()
        version, count = int(lines[0]), int(lines[1])
    except (UnicodeDecodeError, ValueError, IndexError) as error:
        raise DamagedFile(path, f"it does not start with a version and a count ({error})") from error
    if version != _VERSION:
        raise DamagedFile(path, f"checkpoint version {version} is unknown")
    entries = [line.split() for line in lines[2:] if line.strip()]
    if len(entries) != count:
        raise DamagedFile(path, f"{count} entries are announced, but {len(entries)} are there")
    return entries


class OffsetCheckpoint:
    """One offset per partition of a log directory."""

    def __init__(self, file_system: FileSystem, path: Path) -> None:
        self._file_system = file_system
        self._path = path
        # Two writers would share the temporary file.
        self._writing = threading.Lock()

    def read(self) -> dict[TopicPartition, int]:
        """The offsets, none if there is no file; DamagedFile if it cannot be understood."""
        data = self._file_system.read_file(self._path)
        if data is None:
            return {}
        offsets: dict[TopicPartition, int] = {}
        for fields in decode_checkpoint(self._path, data):
            try:
                topic, partition, offset = fields
                offsets[TopicPartition(topic, int(partition))] = int(offset)
            except ValueError as error:
                raise DamagedFile(self._path, f"no topic, partition and offset are in {' '.join(fields)!r}") from error
        return offsets

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the offsets; may wait for the disk."""
        lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        with self._writing:
            write_atomically(self._file_system, self._path, encode_checkpoint(lines))
