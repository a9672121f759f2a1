"""Brokers come and go, with a real controller on a simulated disk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from harness.lone_quorum import LoneQuorum
from harness.simulated_quorum import ROOT, format_disk, running_quorum
from ottla.broker import lifecycle
from ottla.broker.controller.controller import FollowingController, OwnRequest
from ottla.broker.lifecycle import BrokerLifecycle, BrokerRefused
from ottla.broker.quorum import ImageReader
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.messages.broker_registration_request import Listener
from ottla.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from ottla.storage.errors import DiskFull, StorageError
from ottla.testing.sim.disk import SimulatedDisk

pytestmark = pytest.mark.timeout(20)


@asynccontextmanager
async def quorum() -> AsyncIterator[LoneQuorum]:
    disk = SimulatedDisk(ROOT)
    format_disk(disk)
    async with running_quorum(disk) as running:
        yield running


async def follow(delta: ImageDelta, image: ClusterImage) -> None: ...


async def broker(running: LoneQuorum, broker_id: int) -> tuple[BrokerLifecycle, ImageReader]:
    """One that is registered and may lead."""
    reader = running.log.reader()
    reader.start(follow, f"broker {broker_id}")
    life = BrokerLifecycle(broker_id, "cluster", FollowingController(running.controller, running.log, reader), reader)
    await life.register(
        incarnation_id=bytes([broker_id]) * 16,
        listeners=[Listener(name="PLAINTEXT", host="here", port=9092)],
        log_dirs=[b"directory of %4d" % broker_id],
        rack=None,
    )
    assert reader.image.brokers.is_active(broker_id)
    return life, reader


async def create(running: LoneQuorum, *replicas: int) -> None:
    row = CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=[row])
    request = CreateTopicsRequest(topics=[topic])
    response = await running.controller.handle(OwnRequest.of(request), request)
    assert response.topics[0].error_code == 0, response.topics


def test_a_broker_asks_to_go_until_others_lead_what_it_led() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life, reader = await broker(running, 1)
            await broker(running, 2)
            await create(running, 1, 2)
            await life.leave(running.failed)
            partition = reader.image.topics.partition_of("t", 0)
            assert partition is not None
            assert partition.leader == 2
            left = reader.image.brokers.get(1)
            assert left is not None
            assert left.is_fenced

    asyncio.run(scenario())


def test_a_broker_that_is_alone_goes_at_once() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life, reader = await broker(running, 1)
            await create(running, 1)
            await life.leave(running.failed)
            assert not reader.image.brokers.is_active(1)

    asyncio.run(scenario())


def test_a_broker_of_another_cluster_is_refused() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life = BrokerLifecycle(1, "elsewhere", running.controller, running.log.reader())
            with pytest.raises(BrokerRefused, match="belongs to cluster elsewhere"):
                await life.register(incarnation_id=b"i" * 16, listeners=(), log_dirs=(), rack=None)

    asyncio.run(scenario())


def test_a_failed_metadata_log_does_not_keep_a_broker() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life, _ = await broker(running, 1)
            running.log.fail(StorageError(ROOT, "sync", ROOT, "input/output error"))
            await life.leave(running.failed)

    asyncio.run(scenario())


def test_a_full_disk_does_not_keep_a_broker() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life, _ = await broker(running, 1)
            running.controller.space_changed(DiskFull(ROOT, "write", ROOT, "No space left on device"))
            await life.leave(running.failed)

    asyncio.run(scenario())


def test_a_broker_that_cannot_follow_goes_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "LEAVE_TIMEOUT_S", 0.01)

    async def scenario() -> None:
        async with quorum() as running:
            life, _ = await broker(running, 1)

            async def hang(delta: ImageDelta, image: ClusterImage) -> None:
                await asyncio.Event().wait()

            reader = running.log.reader()
            reader.start(hang, "one that hangs")
            life._controller = FollowingController(running.controller, running.log, reader)
            await life.leave(running.failed)

    asyncio.run(scenario())
