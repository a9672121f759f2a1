"""What the active controller makes of a broken connection of a broker, in one event loop."""

import logging
from pathlib import Path

import pytest

from harness.loop_cluster import LoopCluster, run_cluster
from harness.waiting import eventually_async
from ottla.client.errors import BrokerUnreachable
from ottla.metadata.image import BrokerImage

pytestmark = pytest.mark.timeout(60)

# Nobody is fenced because of its silence.
PATIENT = {"broker.session.timeout.ms": "3600000"}
FENCING = "Fencing broker 101: its process is gone"


def broker_image(cluster: LoopCluster) -> BrokerImage:
    log = cluster.nodes[1]._log
    assert log is not None
    found = log.image.brokers.get(101)
    assert found is not None
    return found


async def break_heartbeats(cluster: LoopCluster) -> None:
    finder = cluster.nodes[101]._finder
    assert finder is not None
    connection = finder._lanes["heartbeats"].connection
    assert connection is not None
    connection.abort(BrokerUnreachable("the test breaks it"))

    async def reconnected() -> bool:
        newest = finder._lanes["heartbeats"].connection
        return newest is not None and newest is not connection and newest.is_open

    await eventually_async(reconnected)


def test_a_broker_that_still_listens_is_not_fenced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        for _ in range(3):
            await break_heartbeats(cluster)
        assert not broker_image(cluster).is_fenced
        assert FENCING not in caplog.text

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1, settings=PATIENT), scenario)


def test_one_whose_port_refuses_is_fenced_and_returns_with_its_next_heartbeat(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        broker = cluster.nodes[101].broker
        assert broker is not None
        await broker.socket_server.stop()
        await break_heartbeats(cluster)

        async def was_fenced() -> bool:
            return FENCING in caplog.text and not broker_image(cluster).is_fenced

        await eventually_async(was_fenced)

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1, settings=PATIENT), scenario)


def test_nobody_looks_where_it_is_switched_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        broker = cluster.nodes[101].broker
        assert broker is not None
        await broker.socket_server.stop()
        await break_heartbeats(cluster)
        assert not broker_image(cluster).is_fenced
        assert FENCING not in caplog.text

    settings = PATIENT | {"ottla.dead.peer.detection.enable": "false"}
    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1, settings=settings), scenario)
