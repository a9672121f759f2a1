"""Damage while a log is in use: what its own process has written is not checked when it is read."""

from contextlib import suppress

import pytest

from ottla.protocol.record_batch import iterate_headers
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedBatch
from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000
BATCHES = 200


@pytest.fixture
def used_log(open_log, make_batch) -> Log:
    """Batches of one record each, more than those whose places are remembered."""
    log = open_log()
    for _ in range(BATCHES):
        log.append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    return log


def write_at(log: Log, number: int, position: int, data: bytes) -> None:
    """Writes into one of the batches, which have the same size, behind the log's back."""
    (path,) = log.directory.glob("*.log")
    with path.open("r+b") as file:
        file.seek(number * (path.stat().st_size // BATCHES) + position)
        file.write(data)


def read(log: Log, offset: int, max_bytes: int, *, min_one_batch: bool = True) -> list[int]:
    """The offsets of the batches that a consumer can make out."""
    found = log.read(
        offset,
        max_bytes,
        max_offset_exclusive=log.high_watermark,
        min_one_batch=min_one_batch,
        allow_blocking=True,
    )
    offsets = []
    with suppress(CorruptRecords):
        for _, header in iterate_headers(found.records):
            offsets.append(header.base_offset)
    return offsets


@pytest.mark.parametrize("length", [50_000_000, 20_000, 0, -1])
@pytest.mark.parametrize("max_bytes", [1, 300, 8000, 1 << 20])
def test_a_batch_whose_length_is_damaged_in_use_is_not_handed_out(used_log: Log, length: int, max_bytes: int) -> None:
    size = used_log.size_bytes // BATCHES
    # So that readers know where it begins without an index.
    assert read(used_log, 0, 3 * size) == [0, 1, 2]
    write_at(used_log, 3, 8, length.to_bytes(4, "big", signed=True))
    for min_one_batch in (True, False):
        with pytest.raises(DamagedBatch) as caught:
            read(used_log, 3, max_bytes, min_one_batch=min_one_batch)
        assert (caught.value.path.name, caught.value.position) == ("00000000000000000000.log", 3 * size)
    assert read(used_log, 0, max(max_bytes, 3 * size))[:3] == [0, 1, 2]


def test_the_same_damage_has_the_same_place_whichever_way_it_is_met(used_log: Log) -> None:
    size = used_log.size_bytes // BATCHES
    for number in (3, 7):
        write_at(used_log, number, 0, bytes(size))
    places = set()
    for offset in (3, 4, 5):
        with pytest.raises(DamagedBatch) as caught:
            read(used_log, offset, 1000)
        places.add(caught.value.position)
    assert places == {3 * size}
