"""A disk in memory that forgets what was never synced, in any of the ways a real one may.

It takes the place of `OsFileSystem`. Every change goes through `on_change`, so that a test can look at the disk, or cut
the power, after each one. `clone` keeps a moment; `after_power_cut` says what might be found after one. `before_change`
may raise what a disk says that refuses a change.

What is durable: the bytes of a file up to its last sync; the names in a directory up to its last sync, each directory
for itself. Of later changes to names a prefix survives, as in a journal. Of later changes to a file a prefix survives
too, the last of them perhaps in part, and pages written since the last sync may be missing (they read as zeros).
Syncing a file does not make its name durable.
"""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DirectoryInUse, StorageError

# Smaller than a real page, as the files of these tests are.
PAGE_BYTES = 64
WRITTEN_MS = 1_700_000_000_000


class PowerCut(Exception):
    """Raised by an `on_change` that ends the story here."""


class Survival(Enum):
    """What the power cut leaves of that which was not synced."""

    EVERYTHING = "everything"
    NOTHING = "nothing"
    NAMES = "the names and sizes, with zeros where the data was to be"
    DATA = "the data of the files whose names are durable"
    TORN = "parts, chosen at random"


@dataclass(slots=True, eq=False)
class SimulatedInode:
    """A file: what reads see, what is durable, and the changes between the two."""

    data: bytes = b""
    durable: bytes = b""
    # The file as it was after each change since the last sync.
    unsynced: list[bytes] = field(default_factory=list)

    def change(self, data: bytes) -> None:
        self.data = data
        self.unsynced.append(data)

    def sync(self) -> None:
        self.durable = self.data
        self.unsynced = []

    def survivor(self, survival: Survival, chance: random.Random) -> bytes:
        if survival in (Survival.EVERYTHING, Survival.DATA):
            return self.data
        if survival is Survival.NOTHING or not self.unsynced:
            return self.durable
        if survival is Survival.NAMES:
            return _with_holes(self.durable, self.data, lambda: True)
        versions = [self.durable, *self.unsynced]
        last = chance.randrange(len(versions))
        found = versions[last]
        if last and len(found) > len(versions[last - 1]):
            found = found[: chance.randint(len(versions[last - 1]), len(found))]
        return _with_holes(self.durable, found, lambda: chance.random() < 0.1)


def _with_holes(durable: bytes, data: bytes, is_lost: Callable[[], bool]) -> bytes:
    """Bytes of pages that differ from what is durable may be missing."""
    found = bytearray(data)
    for start in range(0, len(data), PAGE_BYTES):
        page = slice(start, start + PAGE_BYTES)
        old = durable[page]
        if data[page] != old and is_lost():
            # What was durable of the page stays; a file that became longer reads as zeros there.
            found[page] = old[: len(data[page])].ljust(len(data[page]), b"\0")
    return bytes(found)


@dataclass(slots=True, eq=False)
class SimulatedDirectory:
    """Names now, names that are durable, and the changes between the two."""

    entries: dict[str, SimulatedNode] = field(default_factory=dict)
    durable: dict[str, SimulatedNode] = field(default_factory=dict)
    unsynced: list[dict[str, SimulatedNode]] = field(default_factory=list)

    def change_names(self, changes: dict[str, SimulatedNode | None]) -> None:
        """Several names at once: a rename is atomic."""
        self.entries = {name: node for name, node in {**self.entries, **changes}.items() if node is not None}
        self.unsynced.append(self.entries)

    def sync(self) -> None:
        self.durable = self.entries
        self.unsynced = []

    def survivor(self, survival: Survival, chance: random.Random) -> dict[str, SimulatedNode]:
        if survival in (Survival.EVERYTHING, Survival.NAMES):
            return self.entries
        if survival is Survival.TORN:
            return chance.choice([self.durable, *self.unsynced])
        return self.durable


SimulatedNode: TypeAlias = SimulatedInode | SimulatedDirectory


class SimulatedFile:
    """An open file; it outlives its name."""

    def __init__(self, disk: SimulatedDisk, path: Path, inode: SimulatedInode) -> None:
        self.path = path
        self._disk = disk
        self._inode = inode

    def append(self, parts: Sequence[Buffer]) -> int:
        added = b"".join(bytes(part) for part in parts)
        with self._disk.changing("append to", self.path):
            self._inode.change(self._inode.data + added)
        return len(added)

    def read(self, position: int, size: int) -> Buffer:
        return self._inode.data[position : position + size]

    def read_warm(self, position: int, size: int) -> Buffer | None:
        data = self.read(position, size)
        return data if len(data) == size else None

    def reserve(self, size: int) -> None:
        """This disk has no blocks to set aside."""

    def truncate(self, size: int) -> None:
        with self._disk.changing("truncate", self.path):
            self._inode.change(self._inode.data[:size].ljust(size, b"\0"))

    def sync(self) -> None:
        with self._disk.changing("sync", self.path):
            self._inode.sync()

    def size(self) -> int:
        return len(self._inode.data)

    def close(self) -> None:
        """Nothing is held."""


class SimulatedDisk:
    """The file system of one log directory, in memory."""

    def __init__(self, root: Path, on_change: Callable[[str, Path], None] = lambda operation, path: None) -> None:
        self.root = root
        self.on_change = on_change
        self.before_change: Callable[[str, Path], None] = lambda operation, path: None
        self.tree = SimulatedDirectory()
        self._lock = threading.RLock()
        self._locked: set[Path] = set()

    # What a test does with a disk.

    def clone(self) -> SimulatedDisk:
        """The disk as it is now, with what is not synced."""
        with self._lock:
            twin = SimulatedDisk(self.root)
            twin.tree = copy.deepcopy(self.tree)
            return twin

    def after_power_cut(self, survival: Survival, chance: random.Random) -> SimulatedDisk:
        """A disk as it might be found when the power is back; everything on it is durable."""

        def surviving(node: SimulatedNode) -> SimulatedNode:
            if isinstance(node, SimulatedDirectory):
                names = {name: surviving(child) for name, child in node.survivor(survival, chance).items()}
                return SimulatedDirectory(names, names)
            data = node.survivor(survival, chance)
            return SimulatedInode(data, data)

        twin = SimulatedDisk(self.root)
        with self._lock:
            tree = surviving(self.tree)
        assert isinstance(tree, SimulatedDirectory)
        twin.tree = tree
        return twin

    def files(self) -> dict[Path, bytes]:
        """All files with their contents, by path relative to the root."""
        found: dict[Path, bytes] = {}

        def walk(directory: SimulatedDirectory, path: Path) -> None:
            for name, node in sorted(directory.entries.items()):
                if isinstance(node, SimulatedDirectory):
                    walk(node, path / name)
                else:
                    found[path / name] = node.data

        walk(self.tree, Path())
        return found

    def put(self, path: Path, data: bytes | None) -> None:
        """Give a file other contents behind everybody's back, or take it away; `path` is relative to the root."""
        parent = self._find(self.root / path.parent)
        assert isinstance(parent, SimulatedDirectory)
        names = {name: node for name, node in parent.entries.items() if name != path.name}
        if data is not None:
            names[path.name] = SimulatedInode(data, data)
        parent.entries = parent.durable = names
        parent.unsynced = []

    def put_directory(self, path: Path) -> None:
        """Put an empty directory in the place of a file."""
        self.put(path, None)
        parent = self._find(self.root / path.parent)
        assert isinstance(parent, SimulatedDirectory)
        parent.entries = parent.durable = {**parent.entries, path.name: SimulatedDirectory()}

    # What the storage package does with it.

    def open(self, path: Path, *, create: bool = False) -> SimulatedFile:
        with self._lock:
            node = self._find(path)
            if node is None and create:
                node = SimulatedInode()
                self._link(path, node, "create")
            return SimulatedFile(self, path, self._file(path, node, "open"))

    def read_file(self, path: Path) -> bytes | None:
        node = self._find(path)
        return None if node is None else self._file(path, node, "read").data

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        with self._lock:
            node = self._find(path)
            if node is None:
                node = SimulatedInode()
                self._link(path, node, "create")
            inode = self._file(path, node, "write")
            if inode.data:
                with self.changing("empty", path):
                    inode.change(b"")
            with self.changing("write", path):
                inode.change(bytes(data))
            if sync:
                with self.changing("sync", path):
                    inode.sync()

    def file_size(self, path: Path) -> int | None:
        node = self._find(path)
        return None if node is None else len(node.data) if isinstance(node, SimulatedInode) else PAGE_BYTES

    def modified_ms(self, path: Path) -> int:
        if self._find(path) is None:
            raise self._failure("look at", path, "No such file or directory")
        return WRITTEN_MS

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        """Nothing on this disk is older than another."""
        assert modified_ms == self.modified_ms(path)

    def list_directory(self, path: Path) -> list[str]:
        return list(self._directory(path, "list").entries)

    def is_directory(self, path: Path) -> bool:
        return isinstance(self._find(path), SimulatedDirectory)

    def make_directory(self, path: Path) -> None:
        with self._lock:
            if path == self.root:
                return
            self.make_directory(path.parent)
            node = self._find(path)
            if node is None:
                self._link(path, SimulatedDirectory(), "make")
            elif isinstance(node, SimulatedInode):
                raise self._failure("create", path, "File exists")

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent, "a rename across directories would be two changes"
        with self._lock:
            parent = self._directory(source.parent, "rename in")
            node = parent.entries.get(source.name)
            if node is None:
                raise self._failure("rename", source, "No such file or directory")
            with self.changing("rename", source):
                parent.change_names({source.name: None, target.name: node})

    def remove(self, path: Path) -> None:
        with self._lock:
            node = self._find(path)
            if node is None:
                return
            self._file(path, node, "remove")
            with self.changing("remove", path):
                self._directory(path.parent, "remove from").change_names({path.name: None})

    def remove_tree(self, path: Path) -> None:
        with self._lock:
            node = self._find(path)
            if isinstance(node, SimulatedDirectory):
                for name in list(node.entries):
                    self.remove_tree(path / name)
            if node is not None:
                with self.changing("remove", path):
                    self._directory(path.parent, "remove from").change_names({path.name: None})

    def sync_directory(self, path: Path) -> None:
        with self.changing("sync names in", path):
            self._directory(path, "sync").sync()

    def lock(self, path: Path) -> SimulatedLock:
        if path in self._locked:
            raise DirectoryInUse(path)
        self._locked.add(path)
        return SimulatedLock(self._locked, path)

    # Inside.

    def changing(self, operation: str, path: Path) -> _Change:
        return _Change(self, operation, path)

    def _link(self, path: Path, node: SimulatedNode, operation: str) -> None:
        with self.changing(operation, path):
            self._directory(path.parent, "create in").change_names({path.name: node})

    def _find(self, path: Path) -> SimulatedNode | None:
        node: SimulatedNode | None = self.tree
        for name in path.relative_to(self.root).parts:
            if not isinstance(node, SimulatedDirectory):
                return None
            node = node.entries.get(name)
        return node

    def _directory(self, path: Path, operation: str) -> SimulatedDirectory:
        node = self._find(path)
        if not isinstance(node, SimulatedDirectory):
            raise self._failure(operation, path, "No such file or directory" if node is None else "Not a directory")
        return node

    def _file(self, path: Path, node: SimulatedNode | None, operation: str) -> SimulatedInode:
        if not isinstance(node, SimulatedInode):
            raise self._failure(operation, path, "No such file or directory" if node is None else "Is a directory")
        return node

    def _failure(self, operation: str, path: Path, cause: str) -> StorageError:
        return StorageError(self.root, operation, path, cause)


class _Change:
    """One change of a disk, after which its observer is told."""

    def __init__(self, disk: SimulatedDisk, operation: str, path: Path) -> None:
        self._disk = disk
        self._operation = operation
        self._path = path

    def __enter__(self) -> None:
        self._disk.before_change(self._operation, self._path)
        self._disk._lock.acquire()

    def __exit__(self, *failure: object) -> None:
        try:
            if failure[0] is None:
                self._disk.on_change(self._operation, self._path)
        finally:
            self._disk._lock.release()


@dataclass(frozen=True)
class SimulatedLock:
    _locked: set[Path]
    _path: Path

    def release(self) -> None:
        self._locked.discard(self._path)
