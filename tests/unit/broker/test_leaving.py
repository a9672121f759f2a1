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
        assert "did not finish the controlled shutdown" not in caplog.text
        log = cluster.nodes[1]._log
        assert log is not None
        topic = log.image.topics.by_name("t")
        assert topic is not None
        assert {partition.leader for partition in topic.partitions.values()} == {101, 103}

    # Whoever waited for the next regular heartbeat would wait for an hour.
    settings = {"broker.heartbeat.interval.ms": "3600000", "broker.session.timeout.ms": "36000000"}
    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=3, settings=settings), scenario)
