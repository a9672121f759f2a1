"""Files and directories of a simulated disk: what reads see, what is durable, and the changes between the two.

What is durable: the bytes of a file up to its last sync; the names in a directory up to its last sync, each directory
for itself. Of later changes to names a prefix survives, as in a journal. Of later changes to a file a prefix survives
too, the last of them perhaps in part, and pages written since the last sync may be missing (they read as zeros).
Syncing a file does not make its name durable.

A sync that fails loses the pages that it was to write, although reads still see them: a later sync succeeds and does
not bring them to the disk. Only what is written anew after the failure can become durable.

A node keeps its present contents and, for each change since the last sync, how to undo it. So an append costs what it
appends, a read what it reads, and a sync next to nothing. What was durable is found by undoing all of the changes, what
was there at any moment in between by undoing some.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

# Smaller than a real page, as the files of tests are.
PAGE_BYTES: Final = 64
# A share of the unsynced pages of a torn file does not reach the disk.
_LOST_PAGES_SHARE: Final = 0.1


class Survival(Enum):
    """What the power cut leaves of that which was not synced."""

    EVERYTHING = "everything"
    NOTHING = "nothing"
    NAMES = "the names and sizes, with zeros where the data was to be"
    DATA = "the data of the files whose names are durable"
    TORN = "parts, chosen at random"


class FileChange(NamedTuple):
    """How to undo a change of a file: before it, the first `kept_bytes` were followed by `cut`."""

    kept_bytes: int
    cut: bytes

    @property
    def size_before(self) -> int:
        return self.kept_bytes + len(self.cut)


@dataclass(slots=True, eq=False)
class SimulatedInode:
    """A file."""

    modified_ms: int
    data: bytearray = field(default_factory=bytearray)
    # The changes since the last sync, the oldest first.
    unsynced: list[FileChange] = field(default_factory=list)
    # What a failed sync was to write, from one position to another, as far as it was not cut off since.
    lost: tuple[int, int] = (0, 0)
    # Whether it can be found by a path; an open file outlives its name.
    has_name: bool = False

    def append(self, added: bytes) -> None:
        self.unsynced.append(FileChange(len(self.data), b""))
        self.data += added

    def resize(self, size: int) -> None:
        """Cut the file off, or fill it up with zeros."""
        kept = min(size, len(self.data))
        self.unsynced.append(FileChange(kept, bytes(self.data[kept:])))
        del self.data[kept:]
        self.data += bytes(size - kept)
        start, end = self.lost
        self.lost = (start, min(end, kept))

    def sync(self) -> None:
        start, end = self.lost
        if start >= end:
            self.unsynced.clear()

    def fail_sync(self) -> None:
        if self.unsynced:
            self.lost = (self._unchanged_bytes(), len(self.data))

    def clone(self) -> SimulatedInode:
        return SimulatedInode(self.modified_ms, bytearray(self.data), list(self.unsynced), self.lost, self.has_name)

    def survivor(self, survival: Survival, chance: random.Random) -> SimulatedInode:
        """The file as a power cut leaves it, durable as a whole."""
        return SimulatedInode(self.modified_ms, self._surviving_data(survival, chance), has_name=True)

    def _surviving_data(self, survival: Survival, chance: random.Random) -> bytearray:
        if not self.unsynced or survival in (Survival.EVERYTHING, Survival.DATA):
            return bytearray(self.data)
        if survival is Survival.NOTHING:
            return self._after_changes(0)
        if survival is Survival.NAMES:
            return self._with_holes(bytearray(self.data), lambda: True)
        count = chance.randint(0, len(self.unsynced))
        found = self._after_changes(count)
        if count and len(found) > (size_before := self.unsynced[count - 1].size_before):
            del found[chance.randint(size_before, len(found)) :]
        return self._with_holes(found, lambda: chance.random() < _LOST_PAGES_SHARE)

    @property
    def is_at_risk(self) -> bool:
        """Whether a power cut may take something that is in the file."""
        return bool(self.unsynced) and self._unchanged_bytes() < len(self.data)

    def _unchanged_bytes(self) -> int:
        """So many of the first bytes are those of the last sync."""
        return min(change.kept_bytes for change in self.unsynced)

    def _after_changes(self, count: int) -> bytearray:
        """The contents after so many of the unsynced changes."""
        data = bytearray(self.data)
        for kept_bytes, cut in reversed(self.unsynced[count:]):
            del data[kept_bytes:]
            data += cut
        return data

    def _with_holes(self, found: bytearray, is_lost: Callable[[], bool]) -> bytearray:
        """Bytes of pages that differ from what is durable may be missing."""
        durable = self._after_changes(0)
        for start in range(self._unchanged_bytes() // PAGE_BYTES * PAGE_BYTES, len(found), PAGE_BYTES):
            page = slice(start, start + PAGE_BYTES)
            old, new = durable[page], found[page]
            if new != old and is_lost():
                # What was durable of the page stays; a file that became longer reads as zeros there.
                found[page] = old[: len(new)].ljust(len(new), b"\0")
        return found


@dataclass(slots=True, eq=False)
class SimulatedDirectory:
    """A directory: names, and what they stand for."""

    modified_ms: int
    entries: dict[str, SimulatedNode] = field(default_factory=dict)
    # The changes since the last sync, the oldest first: what the names stood for before each.
    unsynced: list[dict[str, SimulatedNode | None]] = field(default_factory=list)

    def change_names(self, changes: Mapping[str, SimulatedNode | None]) -> None:
        """Several names at once: a rename is atomic. None takes a name away."""
        self.unsynced.append({name: self.entries.get(name) for name in changes})
        _apply(self.entries, changes)

    def sync(self) -> None:
        self.unsynced.clear()

    def clone(self, clones: dict[int, SimulatedNode]) -> SimulatedDirectory:
        """`clones`: by identity, since a node can have one name now and have had another before."""

        def clone_node(node: SimulatedNode) -> SimulatedNode:
            if id(node) not in clones:
                clones[id(node)] = node.clone() if isinstance(node, SimulatedInode) else node.clone(clones)
            return clones[id(node)]

        return SimulatedDirectory(
            self.modified_ms,
            {name: clone_node(node) for name, node in self.entries.items()},
            [
                {name: None if node is None else clone_node(node) for name, node in change.items()}
                for change in self.unsynced
            ],
        )

    def survivor(self, survival: Survival, chance: random.Random) -> SimulatedDirectory:
        """The directory as a power cut leaves it with everything in it, durable as a whole."""
        # Sorted: the order of names depends on what was undone, and chance must not.
        surviving = sorted(self._surviving_entries(survival, chance).items())
        return SimulatedDirectory(self.modified_ms, {name: node.survivor(survival, chance) for name, node in surviving})

    def _surviving_entries(self, survival: Survival, chance: random.Random) -> dict[str, SimulatedNode]:
        if survival in (Survival.EVERYTHING, Survival.NAMES):
            return self.entries
        count = chance.randint(0, len(self.unsynced)) if survival is Survival.TORN else 0
        entries = dict(self.entries)
        for change in reversed(self.unsynced[count:]):
            _apply(entries, change)
        return entries


SimulatedNode: TypeAlias = SimulatedInode | SimulatedDirectory


def _apply(entries: dict[str, SimulatedNode], changes: Mapping[str, SimulatedNode | None]) -> None:
    for name, node in changes.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def files_below(
    directory: SimulatedDirectory, prefix: tuple[str, ...] = ()
) -> Iterable[tuple[tuple[str, ...], SimulatedInode]]:
    """All files with the parts of their paths, in the order of names."""
    for name, node in sorted(directory.entries.items()):
        if isinstance(node, SimulatedDirectory):
            yield from files_below(node, (*prefix, name))
        else:
            yield (*prefix, name), node
