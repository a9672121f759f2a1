"""Nodes with process.roles=controller: alone, among others, and what is refused of them."""

import asyncio
from pathlib import Path

import pytest

from harness.controllers import Controllers
from harness.registrations import registration_request
from ottla.broker.controller.controller import OwnRequest
from ottla.broker.node import Node, StartupError
from ottla.config.broker_config import BrokerConfig


def test_a_node_without_the_broker_role_keeps_the_metadata_and_decides(tmp_path: Path) -> None:
    settings = {
        "node.id": "1",
        "process.roles": "controller",
        "listeners": "CONTROLLER://127.0.0.1:0",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "log.dirs": str(tmp_path / "data"),
    }

    async def start_and_stop(count: int) -> None:
        controller = Node(BrokerConfig(settings))
        await controller.start()
        assert [acceptor.listener.name for acceptor in controller.acceptors] == ["CONTROLLER"]
        assert len(controller._log.image.brokers) == count
        request = registration_request(10 + count, controller.cluster_id)
        await controller._controller.handle(OwnRequest.of(request), request)
        assert await controller.stop() == []

    asyncio.run(start_and_stop(0))
    asyncio.run(start_and_stop(1))


def test_one_of_several_controllers_does_not_found_a_cluster_of_its_own(tmp_path: Path) -> None:
    async def start(config: BrokerConfig, metrics: tuple[str, int] | None = None) -> None:
        await Node(config, metrics).start()

    controllers = Controllers(tmp_path, is_static=True)
    with pytest.raises(StartupError, match=r"one of several controllers.*ottla storage format -t CLUSTER-ID"):
        asyncio.run(start(controllers.config(1)))
    with pytest.raises(StartupError, match="Metrics are those of a broker"):
        asyncio.run(start(controllers.config(1), ("127.0.0.1", 0)))
