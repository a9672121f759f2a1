import struct
from pathlib import Path

import pytest

from ottla.storage.file_system import OsFileSystem
from ottla.storage.time_index import TimeIndex


@pytest.fixture
def index(tmp_path: Path) -> TimeIndex:
    index = TimeIndex(OsFileSystem(tmp_path), tmp_path / "i.timeindex", 100)
    for timestamp, offset in ((5000, 109), (5000, 119), (6000, 129), (7000, 139)):
        index.append(timestamp, offset)
    return index


def test_only_new_largest_timestamps_are_entered(index: TimeIndex) -> None:
    assert len(index) == 3
    assert (index.last_timestamp, index.last_offset) == (7000, 139)


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(0, 100), (5000, 100), (5001, 109), (6000, 109), (6001, 129), (8000, 139)]
)
def test_nothing_before_the_found_offset_is_as_late(index: TimeIndex, timestamp: int, offset: int) -> None:
    found = index.entry_before(timestamp)
    assert (found.offset if found else 100) == offset


def test_the_file_has_kafkas_bytes_and_grows(index: TimeIndex) -> None:
    index.write()
    assert index.path.read_bytes() == struct.pack(">qiqiqi", 5000, 9, 6000, 29, 7000, 39)
    index.append(8000, 149)
    index.write()
    assert index.path.read_bytes()[36:] == struct.pack(">qi", 8000, 49)
    loaded = TimeIndex.load(OsFileSystem(index.path.parent), index.path, 100)
    assert loaded is not None
    assert (len(loaded), loaded.last_timestamp, loaded.last_offset) == (4, 8000, 149)


def test_truncation_drops_entries_at_or_after_the_offset(index: TimeIndex) -> None:
    index.write()
    index.truncate_to(129)
    assert (len(index), index.last_timestamp) == (1, 5000)
    index.write()
    assert len(index.path.read_bytes()) == 12


def test_an_empty_index_knows_no_timestamp(tmp_path: Path) -> None:
    index = TimeIndex(OsFileSystem(tmp_path), tmp_path / "e.timeindex", 100)
    assert (index.last_timestamp, index.last_offset, index.entry_before(5)) == (-1, 100, None)


def test_preallocated_zeros_are_no_entries(index: TimeIndex) -> None:
    index.write()
    index.path.write_bytes(index.path.read_bytes() + bytes(120))
    loaded = TimeIndex.load(OsFileSystem(index.path.parent), index.path, 100)
    assert loaded is not None
    assert len(loaded) == 3


def test_an_odd_size_is_no_index(index: TimeIndex) -> None:
    index.path.write_bytes(b"x" * 13)
    assert TimeIndex.load(OsFileSystem(index.path.parent), index.path, 100) is None
