"""Controllers tell where they listen, in one event loop."""

import asyncio
from pathlib import Path

import pytest
from immutables import Map

from harness.loop_cluster import LoopCluster, run_cluster
from harness.waiting import eventually_async
from ottla.broker.controller import registration
from ottla.broker.controller.controller import RequestOrigin
from ottla.broker.controller.registration import ControllerRegistration
from ottla.metadata.controller.controllers import OLDEST_METADATA_VERSION, registered_controllers
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from ottla.protocol.schema import Message

pytestmark = pytest.mark.timeout(60)


async def registered(cluster: LoopCluster) -> dict[int, tuple[bytes, int]]:
    """Incarnation and port of each, once all nodes that run have registered in their present lives."""
    log = cluster.nodes[1]._log
    assert log is not None
    current = {
        node_id: node._listener._registration._request.incarnation_id
        for node_id, node in cluster.nodes.items()
        if node._listener is not None and node._listener._registration is not None
    }

    async def look() -> dict[int, tuple[bytes, int]]:
        return {
            record.controller_id: (record.incarnation_id, record.end_points[0].port)
            for record in registered_controllers(log.image)
        }

    return await eventually_async(
        look, lambda found: all(found.get(key, (b"", 0))[0] == incarnation for key, incarnation in current.items())
    )


def test_every_controller_registers_in_each_of_its_lives(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        first = await registered(cluster)
        assert {key: port for key, (_, port) in first.items()} == {
            key: node.port for key, node in cluster.plan.nodes.items()
        }
        await cluster.stop(3)
        await cluster.start(3)
        second = await registered(cluster)
        assert second[3][0] != first[3][0]
        assert {key: second[key] for key in (1, 2)} == {key: first[key] for key in (1, 2)}

    run_cluster(LoopCluster(tmp_path, controllers=3, brokers=0), scenario)


class FailingController:
    """Accepts a registration at the third attempt."""

    def __init__(self) -> None:
        self.failures = [ApiError(ErrorCode.NOT_CONTROLLER), RuntimeError("nobody has foreseen this")]
        self.is_registered = asyncio.Event()

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        if self.failures:
            raise self.failures.pop(0)
        self.is_registered.set()
        return ControllerRegistrationResponse()


def test_a_registration_that_fails_is_tried_again_whatever_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "_RETRY_S", 0.001)

    async def scenario() -> None:
        controller = FailingController()
        own = ControllerRegistration(controller, node_id=1, incarnation_id=b"i" * 16, listeners=())
        own.image_changed(ClusterImage(features=Map({"metadata.version": OLDEST_METADATA_VERSION})))
        keeping = asyncio.ensure_future(own.keep_registered())
        async with asyncio.timeout(10):
            await controller.is_registered.wait()
        keeping.cancel()

    asyncio.run(scenario())
