"""A disk in memory that forgets what was never synced, in any of the ways a real one may, and fails when it is told to.

It takes the place of `OsFileSystem`. Every change goes through `on_change`, so that a test can look at the disk, or cut
the power, after each one. `before_change` may raise what a disk says that refuses a change. What is durable, and what
of the rest may survive, is told in `inodes`.

A life ends with `power_off`: from then on every call on this disk and on its files raises PowerCut, because `finally`
blocks of a dead node still run and must not reach the disk of its next life. That disk is another object:
`after_power_cut` is one that might be found when the power is back, `clone` is the one that a process finds whose
predecessor was killed. Locks and faults end with the life, the capacity stays.

Faults are switched while the disk is in use. A disk with a capacity takes the part of an append for which there is
room, as a real one does, and is full from then on; a file takes room as long as it has a name. `faults` lets reads,
writes or syncs fail. An operation that fails changes nothing, but for a sync, see `inodes`.

Threads may share a disk: changes come one after the other.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DirectoryInUse, DiskFull, StorageError
from ottla.testing.sim.disk_faults import DiskFaults, DiskOperation
from ottla.testing.sim.inodes import (
    PAGE_BYTES,
    SimulatedDirectory,
    SimulatedInode,
    SimulatedNode,
    Survival,
    files_below,
)

__all__ = ["SYNC_NAMES", "DiskOperation", "PowerCut", "SimulatedDisk", "Survival"]

WRITTEN_MS: Final = 1_700_000_000_000
# What `on_change` is told when names become durable.
SYNC_NAMES: Final = "sync names in"
_NO_SUCH_FILE: Final = "No such file or directory"


def _ignore(_verb: str, _path: Path) -> None:
    """Nobody looks on."""


class PowerCut(Exception):
    """There is no power: a disk that is off raises this whatever it is asked, and so may an `on_change`."""


class SimulatedFile:
    """An open file; it outlives its name."""

    __slots__ = ("_disk", "_inode", "path")

    def __init__(self, disk: SimulatedDisk, path: Path, inode: SimulatedInode) -> None:
        self.path = path
        self._disk = disk
        self._inode = inode

    def append(self, parts: Sequence[Buffer]) -> int:
        return self._disk.append(self.path, self._inode, b"".join(parts), "append to")

    def read(self, position: int, size: int) -> Buffer:
        self._disk.admit(DiskOperation.READ, "read", self.path)
        return self._inode.data[position : position + size]

    def read_warm(self, position: int, size: int) -> Buffer | None:
        data = self.read(position, size)
        return data if len(data) == size else None

    def reserve(self, size: int) -> None:  # noqa: ARG002 - part of File
        """This disk has no blocks to set aside."""
        self._disk.require_power()

    def truncate(self, size: int) -> None:
        self._disk.resize(self.path, self._inode, size, "truncate")

    def sync(self) -> None:
        self._disk.sync(self.path, self._inode)

    def size(self) -> int:
        self._disk.require_power()
        return len(self._inode.data)

    def close(self) -> None:
        """Nothing is held, so even a dead node may close its files."""


class SimulatedDisk:
    """The file system of one log directory, in memory."""

    def __init__(
        self,
        root: Path,
        on_change: Callable[[str, Path], None] = _ignore,
        *,
        clock_ms: Callable[[], int] = lambda: WRITTEN_MS,
        capacity_bytes: int | None = None,
    ) -> None:
        self.root = root
        self.on_change = on_change
        self.before_change: Callable[[str, Path], None] = _ignore
        self.clock_ms = clock_ms
        self.capacity_bytes = capacity_bytes
        self.faults = DiskFaults()
        self._root_parts = root.parts
        self._tree = SimulatedDirectory(clock_ms())
        # The size of all files that have a name.
        self._used_bytes = 0
        self._lock = threading.RLock()
        self._locked: set[Path] = set()
        self._is_off = False

    # What a test does with a disk.

    @property
    def used_bytes(self) -> int:
        return self._used_bytes

    def power_off(self) -> None:
        """End this life of the disk."""
        with self._lock:
            self._is_off = True

    def clone(self) -> SimulatedDisk:
        """The disk as it is now, with what is not synced."""
        with self._lock:
            return self._twin(self._tree.clone({}))

    def after_power_cut(self, survival: Survival, chance: random.Random) -> SimulatedDisk:
        """A disk as it might be found when the power is back; everything on it is durable."""
        with self._lock:
            return self._twin(self._tree.survivor(survival, chance))

    def files(self) -> dict[Path, bytes]:
        """All files with their contents, by path relative to the root."""
        with self._lock:
            return {Path(*parts): bytes(inode.data) for parts, inode in files_below(self._tree)}

    def unsynced_files(self) -> Iterator[Path]:
        """Those that are not durable as they are, relative to the root."""
        return (Path(*parts) for parts, inode in files_below(self._tree) if inode.unsynced)

    def files_at_risk(self, directory: Path) -> list[str]:
        """The files in a directory of which a power cut may take something that is in them.

        A file that was only cut is not among them: what a power cut brings back was there before.
        """
        found = self._find(directory)
        entries = found.entries if isinstance(found, SimulatedDirectory) else {}
        return [name for name, node in entries.items() if isinstance(node, SimulatedInode) and node.is_at_risk]

    def put(self, path: Path, data: bytes | None) -> None:
        """Give a file other contents behind everybody's back, or take it away; `path` is relative to the root."""
        self._put(path, None if data is None else SimulatedInode(self.clock_ms(), bytearray(data)))

    def put_directory(self, path: Path) -> None:
        """Put an empty directory in the place of a file."""
        self._put(path, SimulatedDirectory(self.clock_ms()))

    # What the storage package does with it.

    def open(self, path: Path, *, create: bool = False) -> SimulatedFile:
        with self._lock:
            self.require_power()
            node = self._find(path)
            if node is None and create:
                node = self._create(path)
            return SimulatedFile(self, path, self._file(path, node, "open"))

    def read_file(self, path: Path) -> bytes | None:
        self.admit(DiskOperation.READ, "read", path)
        node = self._find(path)
        return None if node is None else bytes(self._file(path, node, "read").data)

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        with self._lock:
            self.require_power()
            node = self._find(path)
            inode = self._create(path) if node is None else self._file(path, node, "write")
            if inode.data:
                self.resize(path, inode, 0, "empty")
            if self.append(path, inode, bytes(data), "write") != len(data):
                raise DiskFull(self.root, "write", path, "the disk took only a part")
            if sync:
                self.sync(path, inode)

    def file_size(self, path: Path) -> int | None:
        self.require_power()
        node = self._find(path)
        return None if node is None else len(node.data) if isinstance(node, SimulatedInode) else PAGE_BYTES

    def modified_ms(self, path: Path) -> int:
        return self._existing(path, "look at").modified_ms

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        self._existing(path, "date").modified_ms = modified_ms

    def list_directory(self, path: Path) -> list[str]:
        self.admit(DiskOperation.READ, "list", path)
        return list(self._directory(path, "list").entries)

    def is_directory(self, path: Path) -> bool:
        self.require_power()
        return isinstance(self._find(path), SimulatedDirectory)

    def make_directory(self, path: Path) -> None:
        with self._lock:
            self.require_power()
            node = self._find(path)
            if node is None:
                self.make_directory(path.parent)
                self._change_names(path, {path.name: SimulatedDirectory(self.clock_ms())}, "make")
            elif isinstance(node, SimulatedInode):
                raise self._failure("create", path, "File exists")

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent, "a rename across directories would be two changes"
        with self._lock:
            node = self._existing(source, "rename")
            self._change_names(source, {source.name: None, target.name: node}, "rename")

    def remove(self, path: Path) -> None:
        with self._lock:
            self.require_power()
            node = self._find(path)
            if node is not None:
                self._file(path, node, "remove")
                self._change_names(path, {path.name: None}, "remove")

    def remove_tree(self, path: Path) -> None:
        with self._lock:
            self.require_power()
            node = self._find(path)
            if isinstance(node, SimulatedDirectory):
                for name in list(node.entries):
                    self.remove_tree(path / name)
            if node is not None:
                self._change_names(path, {path.name: None}, "remove")

    def sync_directory(self, path: Path) -> None:
        with _Change(self, DiskOperation.SYNC, SYNC_NAMES, path):
            self._directory(path, "sync").sync()

    def lock(self, path: Path) -> SimulatedLock:
        with self._lock:
            self.require_power()
            if path in self._locked:
                raise DirectoryInUse(path)
            self._locked.add(path)
            return SimulatedLock(self._locked, path)

    # What an open file does with it.

    def require_power(self) -> None:
        if self._is_off:
            raise PowerCut(f"the disk of {self.root} is off")

    def admit(self, operation: DiskOperation, verb: str, path: Path) -> None:
        """Nothing, unless this operation is to fail."""
        with self._lock:
            self.require_power()
            if self.faults.strikes(operation):
                raise self._failure(verb, path, "Input/output error")

    def append(self, path: Path, inode: SimulatedInode, data: bytes, verb: str) -> int:
        """The number of bytes for which there was room."""
        with _Change(self, DiskOperation.WRITE, verb, path):
            if self.capacity_bytes is not None:
                room_bytes = max(self.capacity_bytes - self._used_bytes, 0)
                if data and not room_bytes:
                    raise DiskFull(self.root, verb, path, "No space left on device")
                data = data[:room_bytes]
            inode.append(data)
            self._note_growth(inode, len(data))
            return len(data)

    def resize(self, path: Path, inode: SimulatedInode, size: int, verb: str) -> None:
        with _Change(self, DiskOperation.WRITE, verb, path):
            growth_bytes = size - len(inode.data)
            inode.resize(size)
            self._note_growth(inode, growth_bytes)

    def sync(self, path: Path, inode: SimulatedInode) -> None:
        try:
            with _Change(self, DiskOperation.SYNC, "sync", path):
                inode.sync()
        except StorageError:
            inode.fail_sync()
            raise

    # Inside.

    def _twin(self, tree: SimulatedDirectory) -> SimulatedDisk:
        twin = SimulatedDisk(self.root, clock_ms=self.clock_ms, capacity_bytes=self.capacity_bytes)
        twin._tree = tree
        twin._used_bytes = sum(len(inode.data) for _, inode in files_below(tree))
        return twin

    def _note_growth(self, inode: SimulatedInode, growth_bytes: int) -> None:
        inode.modified_ms = self.clock_ms()
        if inode.has_name:
            self._used_bytes += growth_bytes

    def _create(self, path: Path) -> SimulatedInode:
        inode = SimulatedInode(self.clock_ms())
        self._change_names(path, {path.name: inode}, "create")
        return inode

    def _change_names(self, path: Path, changes: Mapping[str, SimulatedNode | None], verb: str) -> None:
        """Change names in the directory that holds a path."""
        with _Change(self, DiskOperation.WRITE, verb, path):
            parent = self._directory(path.parent, f"{verb} in")
            self._link(parent, changes)
            parent.change_names(changes)
            parent.modified_ms = self.clock_ms()

    def _put(self, path: Path, node: SimulatedNode | None) -> None:
        with self._lock:
            parent = self._directory(self.root / path.parent, "put into")
            changes = {path.name: node}
            self._link(parent, changes)
            parent.change_names(changes)
            parent.sync()

    def _link(self, parent: SimulatedDirectory, changes: Mapping[str, SimulatedNode | None]) -> None:
        """Count the files that get and lose their names."""
        for name in changes:
            node = parent.entries.get(name)
            if isinstance(node, SimulatedInode):
                node.has_name = False
                self._used_bytes -= len(node.data)
        for node in changes.values():
            if isinstance(node, SimulatedInode):
                node.has_name = True
                self._used_bytes += len(node.data)

    def _find(self, path: Path) -> SimulatedNode | None:
        # Not `relative_to`, which takes ten times as long as all the rest.
        parts = path.parts
        depth = len(self._root_parts)
        if parts[:depth] != self._root_parts:
            raise ValueError(f"{path} is not below {self.root}")
        node: SimulatedNode | None = self._tree
        for name in parts[depth:]:
            if not isinstance(node, SimulatedDirectory):
                return None
            node = node.entries.get(name)
        return node

    def _existing(self, path: Path, verb: str) -> SimulatedNode:
        self.require_power()
        node = self._find(path)
        if node is None:
            raise self._failure(verb, path, _NO_SUCH_FILE)
        return node

    def _directory(self, path: Path, verb: str) -> SimulatedDirectory:
        node = self._find(path)
        if not isinstance(node, SimulatedDirectory):
            raise self._failure(verb, path, _NO_SUCH_FILE if node is None else "Not a directory")
        return node

    def _file(self, path: Path, node: SimulatedNode | None, verb: str) -> SimulatedInode:
        if not isinstance(node, SimulatedInode):
            raise self._failure(verb, path, _NO_SUCH_FILE if node is None else "Is a directory")
        return node

    def _failure(self, verb: str, path: Path, cause: str) -> StorageError:
        return StorageError(self.root, verb, path, cause)


class _Change:
    """One change of a disk, after which its observer is told."""

    __slots__ = ("_disk", "_operation", "_path", "_verb")

    def __init__(self, disk: SimulatedDisk, operation: DiskOperation, verb: str, path: Path) -> None:
        self._disk = disk
        self._operation = operation
        self._verb = verb
        self._path = path

    def __enter__(self) -> None:
        self._disk._lock.acquire()
        try:
            self._disk.admit(self._operation, self._verb, self._path)
            self._disk.before_change(self._verb, self._path)
        except BaseException:
            self._disk._lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._disk.on_change(self._verb, self._path)
        finally:
            self._disk._lock.release()


class SimulatedLock:
    """A lock that lasts until it is released, or until the disk's life ends."""

    __slots__ = ("_locked", "_path")

    def __init__(self, locked: set[Path], path: Path) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        """Nothing but this life of the disk is touched, so even a dead node may release it."""
        self._locked.discard(self._path)
