"""Brokers that join a cluster: what is refused of them, and for whom they wait."""

import asyncio
import logging
from pathlib import Path

import pytest

from harness.loop_cluster import LoopCluster, run_cluster
from harness.waiting import eventually_async
from ottla.broker import node as node_module
from ottla.broker.node import Node, StartupError
from ottla.config.broker_config import BrokerConfig

pytestmark = pytest.mark.timeout(60)


async def refused(cluster: LoopCluster, node_id: int) -> str:
    with pytest.raises(StartupError) as refusal:
        await cluster.start(node_id)
    return str(refusal.value)


async def until_logged(caplog: pytest.LogCaptureFixture, text: str) -> None:
    async def look() -> bool:
        return text in caplog.text

    await eventually_async(look)


def test_a_directory_that_is_not_formatted_is_refused(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        assert "a broker with controllers on other nodes" in await refused(cluster, 101)

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario, formats=False)


def test_a_node_that_names_another_controller_founds_no_cluster(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        settings = cluster.plan.nodes[101].settings
        settings["controller.quorum.bootstrap.servers"] = "127.0.0.1:1"
        assert "one of several controllers" in await refused(cluster, 101)

    run_cluster(LoopCluster(tmp_path, brokers=1), scenario, formats=False)


def test_a_broker_of_another_cluster_is_refused(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        cluster.format(1)
        cluster.format(101, cluster_id="dGVzdC1jbHVzdGVyLTAwMg")
        await cluster.start(1)
        complaint = await refused(cluster, 101)
        assert "belongs to another cluster than this node, whose cluster.id is dGVzdC1jbHVzdGVyLTAwMg" in complaint

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario, formats=False)


def test_a_broker_with_the_id_of_a_controller_is_refused(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        cluster.plan.nodes[101].settings["node.id"] = "1"
        cluster.format(1)
        cluster.format(101)
        await cluster.start(1)
        assert "node.id 1 is that of a controller" in await refused(cluster, 101)

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario, formats=False)


def test_a_broker_with_the_id_of_a_living_one_is_refused_when_its_time_is_over(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start(1, 101)
        settings = cluster.plan.nodes[102].settings
        settings |= {"node.id": "101", "initial.broker.registration.timeout.ms": "200"}
        cluster.format(102)
        assert "a broker with node.id 101 is registered and alive" in await refused(cluster, 102)

    cluster = LoopCluster(tmp_path, controllers=1, brokers=2)
    for node_id in (1, 101):
        cluster.format(node_id)
    run_cluster(cluster, scenario, formats=False)


def test_a_listener_of_brokers_is_not_taken_for_one_of_controllers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start(1, 101)
        settings = cluster.plan.nodes[102].settings
        settings["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{cluster.plan.nodes[101].port}"
        starting = asyncio.create_task(Node(BrokerConfig(settings)).start())
        await until_logged(caplog, "is not a listener of controllers")
        assert not starting.done()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=2), scenario)


@pytest.mark.parametrize(
    ("is_static", "whom"),
    [
        (True, "2 of its 3 voters have to run, and the others are 1 (127.0.0.1:"),
        (False, "a controller of controller.quorum.bootstrap.servers"),
    ],
    ids=["voters-in-settings", "bootstrap-servers"],
)
def test_a_broker_says_for_whom_it_waits_and_can_be_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, *, is_static: bool, whom: str
) -> None:
    monkeypatch.setattr(node_module, "WAIT_NOTICE_S", 0.05)
    caplog.set_level(logging.WARNING)

    async def scenario(cluster: LoopCluster) -> None:
        settings = cluster.plan.nodes[101].settings
        for _ in range(2):
            # The second start finds what the first has released.
            starting = asyncio.create_task(Node(BrokerConfig(settings)).start())
            await until_logged(caplog, whom)
            caplog.clear()
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            assert starting.cancelled()

    run_cluster(LoopCluster(tmp_path, controllers=3, brokers=1, is_static=is_static), scenario)


def test_a_broker_of_a_large_cluster_that_was_away_catches_up_by_a_snapshot(tmp_path: Path) -> None:
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": "500",
        "metadata.max.retention.bytes": "1000",
        "metadata.log.segment.bytes": str(8 * 1024 * 1024),
    }

    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        await cluster.create_topic(101, "early")
        await cluster.stop(102)
        for number in range(30):
            await cluster.create_topic(101, f"t{number}")
        await cluster.delete_topic(101, "early")
        leader = cluster.nodes[1]._log
        assert leader is not None
        assert leader._log.start_offset > 10, "the log does not reach back to where the broker was"
        await cluster.start(102)
        broker = cluster.nodes[102].broker
        assert broker is not None
        names = {topic.name for topic in broker.dispatcher.services.image.topics}
        assert names == {f"t{number}" for number in range(30)}

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=2, settings=settings), scenario)
