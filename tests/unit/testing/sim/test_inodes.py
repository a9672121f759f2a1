"""A power cut leaves of a file what a model would leave that keeps a copy of the file for each change."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.testing.sim.inodes import PAGE_BYTES, SimulatedDirectory, SimulatedInode, Survival

NOW_MS = 1_000


@dataclass
class Copies:
    """A file, as it was when it was synced and after each change since."""

    versions: list[bytes] = field(default_factory=lambda: [b""])

    def survivor(self, survival: Survival, chance: random.Random) -> bytes:
        durable, data = self.versions[0], self.versions[-1]
        if survival in (Survival.EVERYTHING, Survival.DATA) or len(self.versions) == 1:
            return data
        if survival is Survival.NOTHING:
            return durable
        if survival is Survival.NAMES:
            return self.with_holes(data, 1.0, chance)
        last = chance.randrange(len(self.versions))
        found = self.versions[last]
        if last and len(found) > len(self.versions[last - 1]):
            found = found[: chance.randint(len(self.versions[last - 1]), len(found))]
        return self.with_holes(found, 0.1, chance)

    def with_holes(self, data: bytes, share: float, chance: random.Random) -> bytes:
        pages = []
        for start in range(0, len(data), PAGE_BYTES):
            page, old = data[start : start + PAGE_BYTES], self.versions[0][start : start + PAGE_BYTES]
            is_lost = page != old and (share == 1.0 or chance.random() < share)
            pages.append(old[: len(page)].ljust(len(page), b"\0") if is_lost else page)
        return b"".join(pages)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3 * PAGE_BYTES)),
        st.tuples(st.just("resize"), st.integers(0, 5 * PAGE_BYTES)),
        st.tuples(st.just("sync"), st.just(0)),
    ),
    max_size=12,
)


@given(CHANGES, st.sampled_from(Survival), st.integers(0, 1_000))
def test_a_power_cut_leaves_what_a_copy_for_each_change_would_leave(
    changes: list[tuple[str, int]], survival: Survival, seed: int
) -> None:
    inode, copies = SimulatedInode(NOW_MS), Copies()
    for number, (kind, size) in enumerate(changes, 1):
        if kind == "append":
            inode.append(bytes([number]) * size)
            copies.versions.append(copies.versions[-1] + bytes([number]) * size)
        elif kind == "resize":
            inode.resize(size)
            copies.versions.append(copies.versions[-1][:size].ljust(size, b"\0"))
        else:
            inode.sync()
            copies.versions = copies.versions[-1:]
    assert inode.data == copies.versions[-1]
    expected = copies.survivor(survival, random.Random(seed))
    assert inode.survivor(survival, random.Random(seed)).data == expected
    assert inode.clone().survivor(survival, random.Random(seed)).data == expected


def test_a_clone_goes_its_own_way() -> None:
    inode = SimulatedInode(NOW_MS)
    inode.append(b"one")
    twin = inode.clone()
    inode.append(b"two")
    inode.sync()
    assert twin.data == b"one"
    assert twin.survivor(Survival.NOTHING, random.Random(0)).data == b""


def test_bytes_that_a_failed_sync_has_lost_stay_lost_when_a_later_sync_succeeds() -> None:
    inode = SimulatedInode(NOW_MS)
    inode.append(b"lost")
    inode.fail_sync()
    inode.sync()
    assert inode.data == b"lost"
    assert inode.survivor(Survival.NOTHING, random.Random(0)).data == b""


@pytest.mark.parametrize(("cut_to", "durable"), [(0, b"anew"), (6, b"syncedanew"), (7, b"synced")])
def test_what_is_written_anew_after_a_failed_sync_becomes_durable_if_all_that_was_lost_is_cut_off(
    cut_to: int, durable: bytes
) -> None:
    inode = SimulatedInode(NOW_MS)
    inode.append(b"synced")
    inode.sync()
    inode.append(b"lost")
    inode.fail_sync()
    inode.resize(cut_to)
    inode.append(b"anew")
    inode.sync()
    assert inode.survivor(Survival.NOTHING, random.Random(0)).data == durable


def names(directory: SimulatedDirectory, survival: Survival, seed: int = 0) -> set[str]:
    return set(directory.survivor(survival, random.Random(seed)).entries)


@pytest.mark.parametrize("survival", [Survival.NOTHING, Survival.DATA])
def test_names_since_the_last_sync_are_undone(survival: Survival) -> None:
    directory, kept = SimulatedDirectory(NOW_MS), SimulatedInode(NOW_MS)
    directory.change_names({"a": kept, "b": SimulatedInode(NOW_MS)})
    directory.sync()
    directory.change_names({"a": None, "c": kept})
    directory.change_names({"b": None})
    assert set(directory.entries) == {"c"}
    assert names(directory, survival) == {"a", "b"}


def test_of_unsynced_changes_to_names_any_prefix_survives_and_a_rename_is_one() -> None:
    directory, renamed = SimulatedDirectory(NOW_MS), SimulatedInode(NOW_MS)
    directory.change_names({"a": renamed})
    directory.change_names({"a": None, "b": renamed})
    found = {frozenset(names(directory, Survival.TORN, seed)) for seed in range(50)}
    assert found == {frozenset(), frozenset({"a"}), frozenset({"b"})}


def test_a_clone_of_a_directory_knows_a_renamed_file_under_both_of_its_names() -> None:
    directory, renamed = SimulatedDirectory(NOW_MS), SimulatedInode(NOW_MS)
    directory.change_names({"a": renamed})
    directory.sync()
    directory.change_names({"a": None, "b": renamed})
    twin = directory.clone({})
    twin_file = twin.entries["b"]
    assert isinstance(twin_file, SimulatedInode)
    twin_file.append(b"x")
    twin_file.sync()
    found = twin.survivor(Survival.NOTHING, random.Random(0)).entries["a"]
    assert isinstance(found, SimulatedInode)
    assert found.data == b"x"
    assert renamed.data == b""
