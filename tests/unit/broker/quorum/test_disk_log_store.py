"""The store on a real disk answers as the one in memory does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.metadata.log_batches import encode_values
from ottla.protocol.uuids import METADATA_TOPIC_ID
from ottla.storage.file_system import OsFileSystem
from ottla.storage.partition_metadata import read_topic_id
from unit.broker.quorum.memory_log_store import MemoryLogStore

SEGMENT_BYTES = 400


def batch(base_offset: int, epoch: int, count: int = 2) -> bytes:
    return bytes(encode_values([b"value"] * count, base_offset, epoch, 1_000))


def on_disk(root: Path, start_offset: int = 0) -> DiskLogStore:
    return DiskLogStore(
        OsFileSystem(root),
        root / "__cluster_metadata-0",
        start_offset=start_offset,
        segment_bytes=SEGMENT_BYTES,
        segment_ms=1 << 40,
        wall_clock_ms=lambda: 2_000,
    )


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MetadataLogStore:
    made: dict[str, Callable[[], MetadataLogStore]] = {"disk": lambda: on_disk(tmp_path), "memory": MemoryLogStore}
    store = made[request.param]()
    store.append([batch(0, 1), batch(2, 1)])
    store.append([batch(4, 3), batch(6, 3), batch(8, 3), batch(10, 3)])
    store.flush()
    return store


def test_batches_keep_their_offsets_and_epochs(store: MetadataLogStore) -> None:
    assert (store.start_offset, store.end_offset) == (0, 12)
    assert list(store.epoch_starts()) == [(1, 0), (3, 4)]
    assert store.size_bytes == 6 * len(batch(0, 1))


def test_reads_return_whole_batches_within_the_bounds(store: MetadataLogStore) -> None:
    assert bytes(store.read(2, 4, 1_000)) == batch(2, 1)
    assert bytes(store.read(4, 12, 1)) == batch(4, 3)


def test_everything_can_be_read_by_reading_on(store: MetadataLogStore) -> None:
    offset, found = 0, b""
    while offset < store.end_offset:
        data = bytes(store.read(offset, store.end_offset, 10_000))
        found += data
        offset += 2 * (len(data) // len(batch(0, 1)))
    assert found == b"".join([batch(0, 1), batch(2, 1), batch(4, 3), batch(6, 3), batch(8, 3), batch(10, 3)])


def test_a_truncated_log_continues_where_it_was_cut(store: MetadataLogStore) -> None:
    store.truncate_to(6)
    assert store.end_offset == 6
    store.append([batch(6, 5)])
    assert list(store.epoch_starts()) == [(1, 0), (3, 4), (5, 6)]


def test_an_emptied_log_continues_at_the_offset_of_a_snapshot(store: MetadataLogStore) -> None:
    store.truncate_fully_and_start_at(40)
    assert (store.start_offset, store.end_offset, list(store.epoch_starts())) == (40, 40, [])
    store.append([batch(40, 6)])
    assert store.end_offset == 42


def test_what_a_snapshot_covers_can_go(store: MetadataLogStore) -> None:
    before = store.size_bytes
    assert store.remove_before(8) == 8
    assert store.start_offset == 8
    assert store.size_bytes < before
    assert bytes(store.read(8, 10, 1_000)) == batch(8, 3)


def test_the_disk_gives_back_what_was_written(tmp_path: Path) -> None:
    store = on_disk(tmp_path)
    store.append([batch(0, 1), batch(2, 4)])
    store.close()
    again = on_disk(tmp_path)
    assert (again.start_offset, again.end_offset, list(again.epoch_starts())) == (0, 4, [(1, 0), (4, 2)])
    assert read_topic_id(OsFileSystem(tmp_path), tmp_path / "__cluster_metadata-0") == METADATA_TOPIC_ID
    again.close()


def test_a_torn_tail_is_cut_on_the_next_start(tmp_path: Path) -> None:
    store = on_disk(tmp_path)
    store.append([batch(0, 1), batch(2, 1)])
    store.flush()
    path = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-3])
    again = on_disk(tmp_path)
    assert again.end_offset == 2
    again.close()
