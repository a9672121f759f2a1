from pathlib import Path

from harness.running_node import RunningNode, batch_of, run_node
from harness.transactional_requests import Requests
from ottla.client import Client, TopicPartition
from ottla.client.fetcher import Fetcher

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
