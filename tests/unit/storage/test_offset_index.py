import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ottla.storage.file_system import OsFileSystem
from ottla.storage.offset_index import OffsetIndex


@pytest.fixture
def index(tmp_path: Path) -> OffsetIndex:
    index = OffsetIndex(OsFileSystem(tmp_path), tmp_path / "i.index", 1000)
    for offset, position in ((1009, 500), (1019, 1000), (1029, 1500)):
        index.append(offset, position)
    return index


def reloaded(index: OffsetIndex) -> OffsetIndex | None:
    return OffsetIndex.load(OsFileSystem(index.path.parent), index.path, 1000)


@pytest.mark.parametrize(
    ("offset", "position"), [(0, 0), (1000, 0), (1008, 0), (1009, 500), (1018, 500), (1019, 1000), (9999, 1500)]
)
def test_a_position_at_or_before_the_batch_is_found(index: OffsetIndex, offset: int, position: int) -> None:
    found = index.entry_before(offset)
    assert (found.position if found else 0) == position


@pytest.mark.parametrize(("position", "start"), [(0, 0), (499, 0), (500, 500), (1499, 1000), (99999, 1500)])
def test_the_last_batch_start_before_a_position_is_found(index: OffsetIndex, position: int, start: int) -> None:
    found = index.entry_at_or_before(position)
    assert (found.position if found else 0) == start


def test_offsets_must_ascend(index: OffsetIndex) -> None:
    with pytest.raises(ValueError, match="1029"):
        index.append(1029, 2000)


def test_the_file_has_kafkas_bytes_and_grows(index: OffsetIndex) -> None:
    index.write()
    assert index.path.read_bytes() == struct.pack(">6i", 9, 500, 19, 1000, 29, 1500)
    index.append(1039, 2000)
    index.write()
    assert index.path.read_bytes() == struct.pack(">8i", 9, 500, 19, 1000, 29, 1500, 39, 2000)
    loaded = reloaded(index)
    assert loaded is not None
    assert (len(loaded), loaded.last_offset, loaded.last_position) == (4, 1039, 2000)


@pytest.mark.parametrize(("offset", "left"), [(1000, 0), (1009, 0), (1010, 1), (1019, 1), (1030, 3)])
def test_truncation_drops_batches_that_end_at_or_after_the_offset(index: OffsetIndex, offset: int, left: int) -> None:
    index.write()
    index.truncate_to(offset)
    assert len(index) == left
    index.append(1050, 5000)
    index.write()
    assert len(index.path.read_bytes()) == 8 * (left + 1)


def test_preallocated_zeros_are_dropped_and_overwritten(index: OffsetIndex) -> None:
    index.write()
    index.path.write_bytes(index.path.read_bytes() + bytes(80))
    loaded = reloaded(index)
    assert loaded is not None
    assert len(loaded) == 3
    loaded.append(1039, 2000)
    loaded.write()
    assert len(index.path.read_bytes()) == 32


def test_an_odd_size_is_no_index(index: OffsetIndex) -> None:
    index.write()
    index.path.write_bytes(index.path.read_bytes() + b"x")
    assert reloaded(index) is None


def test_an_empty_index_has_an_empty_file(tmp_path: Path) -> None:
    index = OffsetIndex(OsFileSystem(tmp_path), tmp_path / "e.index", 5)
    index.write()
    assert index.path.read_bytes() == b""
    assert (index.entry_before(5), index.last_offset, index.last_position) == (None, 5, 0)


def test_a_lookup_in_another_thread_finds_every_entry_whole(tmp_path: Path) -> None:
    index = OffsetIndex(OsFileSystem(tmp_path), tmp_path / "x.index", 0)
    is_over = threading.Event()

    def look_up() -> None:
        while not is_over.is_set():
            for found in (index.entry_before(2**30), index.entry_at_or_before(2**30)):
                assert found is None or found.position == found.offset * 100

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            lookups = threads.submit(look_up)
            for number in range(1, 20_000):
                index.append(number, number * 100)
                if number % 100 == 0:
                    index.truncate_to(number - 50)
                    for again in range(number - 50, number + 1):
                        index.append(again, again * 100)
            is_over.set()
            lookups.result()
    finally:
        is_over.set()
        sys.setswitchinterval(before)
