"""A broker answers when its own image has reached the change."""

import asyncio

import pytest

from harness.registrations import registration_request
from harness.simulated_quorum import ROOT, format_disk, running_quorum
from ottla.broker.controller.controller import FollowingController, OwnRequest
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.testing.sim.disk import SimulatedDisk

pytestmark = pytest.mark.timeout(20)


def test_an_answer_waits_for_the_brokers_own_reader() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(ROOT)
        format_disk(disk)
        async with running_quorum(disk) as running:
            has_begun, may_end = asyncio.Event(), asyncio.Event()

            async def follow(delta: ImageDelta, image: ClusterImage) -> None:
                has_begun.set()
                await may_end.wait()

            reader = running.log.reader()
            reader.start(follow, "broker")
            controller = FollowingController(running.controller, running.log, reader)
            request = registration_request(1, "cluster")
            asked = asyncio.create_task(controller.handle(OwnRequest.of(request), request))
            await has_begun.wait()
            assert running.log.image.brokers.get(1) is not None
            assert reader.image.brokers.get(1) is None
            assert not asked.done()
            may_end.set()
            await asked
            assert reader.image.brokers.get(1) is not None

    asyncio.run(scenario())
