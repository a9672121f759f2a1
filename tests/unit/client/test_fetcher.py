from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.transactional_requests import Requests
from ottla.client import Client, ClientSettings, CorruptBatch, TopicPartition
from ottla.client.fetch_request import FetchedBatches
from ottla.client.fetcher import Fetcher
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import set_base_offset

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_a_partition_that_goes_before_its_fetch_has_begun_holds_up_no_other(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 2)
        await requests.produce(None, {("orders", 0): batch_of(b"first"), ("orders", 1): batch_of(b"second")})
        async with Client(f"127.0.0.1:{running.port}") as client:
            await client.cluster.refresh({"orders"})
            fetcher = Fetcher(client.cluster)
            fetcher.start(FIRST, 0)
            fetcher.start(SECOND, 0)
            assert await fetcher.take(10, 0) == [], "requests are under way, and none has been sent"
            fetcher.stop(SECOND)
            assert [record.value for record in await fetcher.take(10, 20)] == [b"first"]
            await fetcher.close()

    run_node(tmp_path / "data", scenario)


BATCH_BYTES = len(batch_of(b"value"))


def stored(count: int) -> bytearray:
    """Batches of one record each, at offsets from 0 on."""
    log = bytearray()
    for offset in range(count):
        batch = bytearray(batch_of(b"value"))
        set_base_offset(batch, offset)
        log += batch
    return log


@pytest.mark.parametrize("position", [16, -1], ids=["header", "record"])
def test_what_lies_before_a_damaged_batch_is_read_and_then_its_place_is_raised(tmp_path: Path, position: int) -> None:
    log = stored(3)
    log[(2 * BATCH_BYTES + position) if position < 0 else BATCH_BYTES + position] ^= 1
    answer = FetchedBatches(memoryview(bytes(log)), high_watermark=3)

    async def scenario(running: RunningNode) -> None:
        async with Client(f"127.0.0.1:{running.port}") as client:
            fetcher = Fetcher(client.cluster)
            fetcher.start(FIRST, 0)
            state = fetcher.partitions[FIRST]
            fetcher._keep(FIRST, state, answer)
            assert [record.offset for record in fetcher._take_ready(10)] == [0]
            rest = FetchedBatches(answer.batches[BATCH_BYTES:], high_watermark=3)
            if state.error is None:
                fetcher._keep(FIRST, state, rest)
            with pytest.raises(CorruptBatch) as caught:
                fetcher._take_ready(10)
            assert (caught.value.partition, caught.value.offset) == (FIRST, 1)
            await fetcher.close()

    run_node(tmp_path / "data", scenario)


def test_a_damaged_batch_behind_one_that_is_not_shown_is_named_by_its_own_place(tmp_path: Path) -> None:
    log = stored(3)
    marker = end_txn_batch(producer_id=7, producer_epoch=0, is_commit=True, coordinator_epoch=0, timestamp_ms=0)
    set_base_offset(marker, 3)
    damaged = stored(5)[-BATCH_BYTES:]
    # Its own word for where it is has rotted as well.
    set_base_offset(damaged, 1 << 40)
    damaged[-1] ^= 1
    answer = FetchedBatches(memoryview(bytes(log + marker + damaged)), high_watermark=5)

    async def scenario(running: RunningNode) -> None:
        async with Client(f"127.0.0.1:{running.port}") as client:
            fetcher = Fetcher(client.cluster)
            fetcher.start(FIRST, 0)
            fetcher._keep(FIRST, fetcher.partitions[FIRST], answer)
            assert [record.offset for record in fetcher._take_ready(10)] == [0, 1, 2]
            with pytest.raises(CorruptBatch) as caught:
                fetcher._take_ready(10)
            assert caught.value.offset == 4
            assert fetcher.partitions[FIRST].position == 4
            await fetcher.close()

    run_node(tmp_path / "data", scenario)


def test_trouble_with_a_partition_has_the_same_name_wherever_its_reader_is(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        told: list[str] = []
        settings = ClientSettings(on_retry=lambda retry: told.append(retry.what))
        async with Client(f"127.0.0.1:{running.port}", settings) as client:
            fetcher = Fetcher(client.cluster)
            for offset in (3, 4):
                fetcher.start(FIRST, offset)
                # Nobody knows who leads it: there is no such topic.
                assert await fetcher.take(10, 0) == []
            assert told == ["fetching orders-0", "fetching orders-0"]
            await fetcher.close()

    run_node(tmp_path / "data", scenario)
