"""The snapshot files beside the metadata log.

A snapshot appears under its name only when it is whole and on the disk; whatever else a crash leaves is removed on
the next start.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import SnapshotContents, parse_snapshot_file_name, read_snapshot, snapshot_file_name
from ottla.protocol.compression import Buffer
from ottla.raft import OffsetAndEpoch
from ottla.storage.errors import DamagedFile, DiskFull
from ottla.storage.file_system import FileSystem

_PART = ".part"
_LEFTOVERS = (".checkpoint.part", ".checkpoint.deleted")


class SnapshotFiles:
    def __init__(self, file_system: FileSystem, directory: Path) -> None:
        self._file_system = file_system
        self._directory = directory

    def list(self) -> list[OffsetAndEpoch]:
        """Oldest first."""
        names = self._file_system.list_directory(self._directory)
        found = [snapshot for name in names if (snapshot := parse_snapshot_file_name(name)) is not None]
        return sorted(found, key=lambda snapshot: (snapshot.offset, snapshot.epoch))

    def remove_leftovers(self) -> None:
        for name in self._file_system.list_directory(self._directory):
            if name.endswith(_LEFTOVERS):
                self._file_system.remove(self._directory / name)

    def read(self, snapshot: OffsetAndEpoch) -> SnapshotContents:
        path = self._path(snapshot)
        data = self._file_system.read_file(path)
        if data is None:
            raise DamagedFile(path, "it is gone")
        try:
            return read_snapshot(data)
        except UnreadableMetadata as error:
            raise DamagedFile(path, str(error)) from error

    def write(self, snapshot: OffsetAndEpoch, batches: Iterable[Buffer]) -> None:
        """Durable when it returns; may wait for the disk."""
        path = self._path(snapshot)
        part = path.with_name(path.name + _PART)
        try:
            self._file_system.write_file(part, b"".join(batches), sync=True)
        except DiskFull:
            self._file_system.remove(part)
            raise
        self._file_system.rename(part, path)
        self._file_system.sync_directory(self._directory)

    def remove(self, snapshot: OffsetAndEpoch) -> None:
        self._file_system.remove(self._path(snapshot))

    def size_bytes(self, snapshot: OffsetAndEpoch) -> int:
        return self._file_system.file_size(self._path(snapshot)) or 0

    def _path(self, snapshot: OffsetAndEpoch) -> Path:
        return self._directory / snapshot_file_name(snapshot)
