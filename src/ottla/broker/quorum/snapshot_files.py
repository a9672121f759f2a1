"""The snapshot files beside the metadata log.

A snapshot appears under its name only when it is whole and on the disk: one of our own, and one that comes piece by
piece from the leader. Whatever else a crash leaves is removed on the next start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import SnapshotContents, parse_snapshot_file_name, read_snapshot, snapshot_file_name
from ottla.protocol.compression import Buffer
from ottla.raft import OffsetAndEpoch
from ottla.storage.errors import DamagedFile, DiskFull, StorageError
from ottla.storage.file_system import FileSystem

_PART = ".part"
_LEFTOVERS = (".checkpoint.part", ".checkpoint.deleted")


@dataclass(frozen=True, slots=True)
class SnapshotPiece:
    """Some bytes of a snapshot file, and how many the whole file has."""

    data: Buffer
    size_bytes: int


class SnapshotFiles:
    def __init__(self, file_system: FileSystem, directory: Path) -> None:
        self._file_system = file_system
        self.directory = directory

    def list(self) -> list[OffsetAndEpoch]:
        """Oldest first."""
        names = self._file_system.list_directory(self.directory)
        found = [snapshot for name in names if (snapshot := parse_snapshot_file_name(name)) is not None]
        return sorted(found, key=lambda snapshot: (snapshot.offset, snapshot.epoch))

    def remove_leftovers(self) -> None:
        for name in self._file_system.list_directory(self.directory):
            if name.endswith(_LEFTOVERS):
                self._file_system.remove(self.directory / name)

    def read(self, snapshot: OffsetAndEpoch) -> SnapshotContents:
        return self._read(self._path(snapshot))

    def _read(self, path: Path) -> SnapshotContents:
        data = self._file_system.read_file(path)
        if data is None:
            raise DamagedFile(path, "it is gone")
        try:
            return read_snapshot(data)
        except UnreadableMetadata as error:
            raise DamagedFile(path, str(error)) from error

    def read_piece(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> SnapshotPiece | None:
        """The bytes from a position on, none at or beyond the end; None if the snapshot is gone. May wait for the
        disk."""
        path = self._path(snapshot)
        if self._file_system.file_size(path) is None:
            return None
        try:
            file = self._file_system.open(path)
        except StorageError:
            if self._file_system.file_size(path) is None:
                # A newer snapshot took its place meanwhile.
                return None
            raise
        try:
            size_bytes = file.size()
            count = max(min(max_bytes, size_bytes - position), 0)
            return SnapshotPiece(file.read(position, count) if count else b"", size_bytes)
        finally:
            file.close()

    def write(self, snapshot: OffsetAndEpoch, batches: Iterable[Buffer]) -> None:
        """Durable when it returns; may wait for the disk."""
        part = self._part(snapshot)
        try:
            self._file_system.write_file(part, b"".join(batches), sync=True)
        except DiskFull:
            self._file_system.remove(part)
            raise
        self._reveal(snapshot)

    def write_part(self, snapshot: OffsetAndEpoch, position: int, data: Buffer) -> None:
        """Adds a piece that the leader has sent; a piece at position 0 starts the file anew. May wait for the disk."""
        part = self._part(snapshot)
        file = self._file_system.open(part, create=True)
        try:
            size = file.size()
            if size < position:
                raise DamagedFile(part, f"it ends at {size}, and the next piece of the snapshot begins at {position}")
            if size > position:
                file.truncate(position)
            rest = memoryview(data)
            while rest:
                rest = rest[file.append([rest]) :]
        finally:
            file.close()

    def finish_part(self, snapshot: OffsetAndEpoch) -> SnapshotContents:
        """Gives a snapshot that is complete its final name; durable when it returns. May wait for the disk."""
        part = self._part(snapshot)
        if self._file_system.file_size(part) is None and self._file_system.file_size(self._path(snapshot)) is not None:
            # This is a retry, after a later step failed.
            return self.read(snapshot)
        contents = self._read(part)
        file = self._file_system.open(part)
        try:
            file.sync()
        finally:
            file.close()
        self._reveal(snapshot)
        return contents

    def _reveal(self, snapshot: OffsetAndEpoch) -> None:
        self._file_system.rename(self._part(snapshot), self._path(snapshot))
        self._file_system.sync_directory(self.directory)

    def remove(self, snapshot: OffsetAndEpoch) -> None:
        self._file_system.remove(self._path(snapshot))

    def size_bytes(self, snapshot: OffsetAndEpoch) -> int:
        return self._file_system.file_size(self._path(snapshot)) or 0

    def _part(self, snapshot: OffsetAndEpoch) -> Path:
        path = self._path(snapshot)
        return path.with_name(path.name + _PART)

    def _path(self, snapshot: OffsetAndEpoch) -> Path:
        return self.directory / snapshot_file_name(snapshot)
