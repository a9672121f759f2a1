"""Brokers that leave a cluster in controlled shutdown."""

from pathlib import Path

import pytest

from harness.loop_cluster import LoopCluster, run_cluster

pytestmark = pytest.mark.timeout(60)


def test_others_report_at_once_that_they_know_the_new_leaders(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        await cluster.create_topic(101, "t", replication_factor=3)
        await cluster.stop(102)
        assert "without controlled shutdown" not in caplog.text
        log = cluster.nodes[1]._log
        assert log is not None
        topic = log.image.topics.by_name("t")
        assert topic is not None
        assert {partition.leader for partition in topic.partitions.values()} == {101, 103}

    # Whoever waited for the next regular heartbeat would wait for an hour.
    settings = {"broker.heartbeat.interval.ms": "3600000", "broker.session.timeout.ms": "36000000"}
    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=3, settings=settings), scenario)


# A broker that waited for its session to end would wait longer than a test may take.
LONG_SESSIONS = {"broker.session.timeout.ms": "36000000"}


def test_the_last_of_several_nodes_does_not_wait_for_a_majority_that_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        await cluster.create_topic(101, "t", replication_factor=3)
        await cluster.stop(101)
        await cluster.stop(102)
        # Two of three were a majority, which has let both of them go.
        assert "without controlled shutdown" not in caplog.text
        await cluster.stop(103)
        assert "stops without controlled shutdown: nobody listens at controllers 101, 102" in caplog.text

    run_cluster(LoopCluster(tmp_path, controllers=0, brokers=3, settings=LONG_SESSIONS), scenario)


def test_a_broker_does_not_wait_for_controllers_that_are_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        await cluster.stop(1, 2, 3)
        await cluster.stop(101)
        assert "stops without controlled shutdown: nobody listens at controllers" in caplog.text

    run_cluster(LoopCluster(tmp_path, controllers=3, brokers=1, settings=LONG_SESSIONS), scenario)
