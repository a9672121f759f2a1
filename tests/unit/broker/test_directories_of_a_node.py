"""Directories that are away for a start, and come back: nothing of what lies in them begins anew elsewhere."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker.node import StartupError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

PARTITIONS = 4


class Orders:
    """A topic of a node with two log directories, each of which holds half of its partitions."""

    def __init__(self, home: Path) -> None:
        self.first, self.second = home / "a", home / "b"
        self.both = {"log.dirs": f"{self.first},{self.second}"}
        self.topic_id: bytes
        run_node(self.first, self._create, self.both)

    async def _create(self, running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))).topics
        self.topic_id = created.topic_id
        assert await self._write(running) == {ErrorCode.NONE: PARTITIONS}

    async def _write(self, running: RunningNode) -> dict[ErrorCode, int]:
        """A record for each partition; how many of them heard which error."""
        client = await running.connect()
        rows = [PartitionProduceData(index=n, records=batch_of(b"for %d" % n)) for n in range(PARTITIONS)]
        topic = TopicProduceData(topic_id=self.topic_id, partition_data=rows)
        answer = await client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]))
        codes = [ErrorCode(row.error_code) for row in answer.responses[0].partition_responses]
        return {code: codes.count(code) for code in codes}

    def write(self, log_dirs: dict[str, str]) -> dict[ErrorCode, int]:
        """The same in a node that is started for it."""
        found: dict[ErrorCode, int] = {}

        async def scenario(running: RunningNode) -> None:
            found.update(await self._write(running))

        run_node(self.first, scenario, log_dirs)
        return found

    def ends(self) -> list[int]:
        """The end of each partition, in a node with both directories."""
        found: list[int] = []

        async def scenario(running: RunningNode) -> None:
            found.extend(running.node.replicas.partition("orders", n).log.log_end_offset for n in range(PARTITIONS))

        run_node(self.first, scenario, self.both)
        return found


def leave_out(orders: Orders) -> dict[str, str]:
    return {"log.dirs": str(orders.first)}


def unmount(orders: Orders) -> dict[str, str]:
    orders.second.rename(orders.second.with_name("unmounted"))
    return orders.both


def mount(orders: Orders) -> None:
    disk = orders.second.with_name("unmounted")
    if disk.exists():
        shutil.rmtree(orders.second)
        disk.rename(orders.second)


@pytest.mark.parametrize("take_away", [leave_out, unmount])
def test_what_lies_in_a_directory_that_is_away_is_offline_until_it_is_back(
    tmp_path: Path, take_away: Callable[[Orders], dict[str, str]]
) -> None:
    orders = Orders(tmp_path)
    log_dirs = take_away(orders)
    half = {ErrorCode.NONE: PARTITIONS // 2, ErrorCode.KAFKA_STORAGE_ERROR: PARTITIONS // 2}
    assert orders.write(log_dirs) == half
    # The second time as well, when the node has been registered without it.
    assert orders.write(log_dirs) == half
    mount(orders)
    assert sorted(orders.ends()) == [1, 1, 3, 3]


def test_two_logs_of_one_partition_with_different_records_stop_the_start(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    mine = next(orders.first.glob("orders-*"))
    other = next(orders.second.glob("orders-*"))
    shutil.copytree(mine, orders.first / other.name)
    with pytest.raises(StartupError, match=f"{other.name} is in .* with different records"):
        orders.ends()
    assert mine.exists() and other.exists()


def test_a_log_that_a_move_left_twice_is_kept_once(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    log = next(orders.second.glob("orders-*"))
    shutil.copytree(log, orders.first / log.name)
    assert orders.ends() == [1] * PARTITIONS


def test_a_copy_of_a_directory_is_no_second_directory(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    shutil.rmtree(orders.second)
    shutil.copytree(orders.first, orders.second)
    with pytest.raises(StartupError, match=r"have the same directory\.id"):
        orders.ends()
