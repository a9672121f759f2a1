from pathlib import Path

from crc32c import crc32c

from ottla.storage.file_system import OsFileSystem
from ottla.storage.transaction_checkpoint import note_transaction_indexes, take_transaction_indexes

FIRST = "00000000000000000000.txnindex"
LATER = "00000000000000000070.txnindex"


def test_indexes_are_noted_once_and_taken_once(tmp_path: Path) -> None:
    disk = OsFileSystem(tmp_path)
    (tmp_path / FIRST).write_bytes(b"one")
    (tmp_path / LATER).write_bytes(b"two")
    (tmp_path / "00000000000000000090.log").write_bytes(b"not an index")
    note_transaction_indexes(disk, tmp_path)
    assert take_transaction_indexes(disk, tmp_path) == {0: crc32c(b"one"), 70: crc32c(b"two")}
    assert take_transaction_indexes(disk, tmp_path) == {}


def test_a_log_without_aborted_transactions_gets_no_file(tmp_path: Path) -> None:
    note_transaction_indexes(OsFileSystem(tmp_path), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_checkpoint_says_nothing_and_is_gone(tmp_path: Path) -> None:
    disk = OsFileSystem(tmp_path)
    (tmp_path / FIRST).write_bytes(b"one")
    note_transaction_indexes(disk, tmp_path)
    (checkpoint,) = [path for path in tmp_path.iterdir() if path.name != FIRST]
    checkpoint.write_bytes(b"0\nnonsense")
    assert take_transaction_indexes(disk, tmp_path) == {}
    assert not checkpoint.exists()
