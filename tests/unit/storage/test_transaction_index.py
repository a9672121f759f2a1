import random
from pathlib import Path

import pytest

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex


@pytest.fixture
def index(tmp_path: Path) -> TransactionIndex:
    index = TransactionIndex(OsFileSystem(tmp_path), tmp_path / "x.txnindex")
    # The other one was open then.
    index.append(AbortedTransaction(1, 10, 20, 15))
    index.append(AbortedTransaction(2, 15, 40, 41))
    return index


def test_no_file_is_made_without_an_abort(tmp_path: Path) -> None:
    TransactionIndex(OsFileSystem(tmp_path), tmp_path / "x.txnindex").write()
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_kafkas_bytes_and_comes_back(index: TransactionIndex) -> None:
    index.write()
    assert index.path.read_bytes()[:34] == bytes.fromhex(
        "00000000000000000001000000000000000a0000000000000014000000000000000f"
    )
    assert TransactionIndex.load(OsFileSystem(index.path.parent), index.path).entries == index.entries


@pytest.mark.parametrize(
    ("start", "end", "producers", "is_complete"),
    [
        (0, 10, [], True),
        (0, 11, [1], True),
        (0, 15, [1], True),
        (0, 16, [1, 2], True),
        (20, 21, [1, 2], True),
        (21, 22, [2], True),
        (21, 42, [2], False),
        (41, 90, [], False),
    ],
)
def test_transactions_in_a_range_are_found_and_whether_later_ones_may_be(
    index, start: int, end: int, producers: list[int], is_complete: bool
) -> None:
    found, complete = index.overlapping(start, end)
    assert ([entry.producer_id for entry in found], complete) == (producers, is_complete)


def test_truncation_drops_transactions_by_their_marker(index: TransactionIndex) -> None:
    index.write()
    index.truncate_to(40)
    index.write()
    assert [entry.producer_id for entry in index.entries] == [1]
    assert len(index.path.read_bytes()) == 34
    index.truncate_to(0)
    index.write()
    assert index.path.read_bytes() == b""


@pytest.mark.parametrize("data", [b"x", b"\0\1" + bytes(32)])
def test_damage_is_noticed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.txnindex"
    path.write_bytes(data)
    with pytest.raises(DamagedFile):
        TransactionIndex.load(OsFileSystem(tmp_path), path)


class CountedOffset(int):
    """An offset that counts how often it is compared."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        CountedOffset.comparisons += 1
        return super().__lt__(other)


@pytest.mark.parametrize("is_aborted", [True, False])
def test_a_long_transaction_does_not_make_a_fetch_look_at_all_that_were_aborted_meanwhile(
    tmp_path: Path, is_aborted: bool
) -> None:
    index = TransactionIndex(OsFileSystem(tmp_path), tmp_path / "x.txnindex")
    for number in range(20_000):
        index.append(AbortedTransaction(5, CountedOffset(200 + 10 * number), 209 + 10 * number, 100))
    if is_aborted:
        index.append(AbortedTransaction(6, CountedOffset(100), 300_000, 300_001))
    CountedOffset.comparisons = 0
    found, _ = index.overlapping(50_000, 50_100)
    assert len(found) == 10 + is_aborted
    assert CountedOffset.comparisons < 1000


def test_the_transactions_of_a_range_are_those_that_a_look_at_every_entry_finds(tmp_path: Path) -> None:
    chance = random.Random(7)
    index = TransactionIndex(OsFileSystem(tmp_path), tmp_path / "x.txnindex")
    began: list[int] = []
    offset = 0
    while len(index) < 1500:
        offset += 1
        if not began or (len(began) < 5 and chance.random() < 0.5):
            began.append(offset)
            continue
        # Now and then the oldest ends, which may have been open for long.
        first = began.pop(0 if chance.random() < 0.005 else -1)
        index.append(AbortedTransaction(1, first, offset, min(began, default=offset + 1)))
    index.truncate_to(index.entries[1300].last_offset)
    assert len(index) == 1300
    for start in range(0, offset, 97):
        for end in (start + 1, start + 50, start + 1000):
            found, is_complete = index.overlapping(start, end)
            assert found == [one for one in index.entries if one.last_offset >= start and one.first_offset < end]
            assert is_complete == any(
                one.last_offset >= start and one.last_stable_offset >= end for one in index.entries
            )


class RecordingDisk(OsFileSystem):
    """The real disk, which remembers the files that were written whole."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.written_whole: list[str] = []

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        self.written_whole.append(path.name)
        super().write_file(path, data, sync=sync)


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    index = TransactionIndex(disk, tmp_path / "x.txnindex")
    index.append(AbortedTransaction(1, 10, 20, 15))
    assert index.write()
    index.append(AbortedTransaction(2, 15, 40, 41))
    assert index.write()
    assert not index.write()
    assert disk.written_whole == ["x.txnindex"]
    again = TransactionIndex.load(disk, index.path)
    assert again.entries == index.entries
    # Entries that no file has are dropped without a trace, those of the file with a new one.
    again.append(AbortedTransaction(3, 50, 60, 61))
    again.truncate_to(60)
    assert not again.write()
    again.truncate_to(40)
    again.append(AbortedTransaction(4, 30, 45, 46))
    assert again.write()
    assert TransactionIndex.load(disk, index.path).entries == [index.entries[0], AbortedTransaction(4, 30, 45, 46)]
