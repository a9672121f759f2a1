from pathlib import Path

import pytest

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
