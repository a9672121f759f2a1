"""Brokers come and go, with a real controller on a simulated disk."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from harness.lone_quorum import LoneQuorum
from harness.simulated_quorum import ROOT, format_disk, running_quorum
from harness.waiting import eventually_async
from ottla.broker import lifecycle
from ottla.broker.controller.controller import Controller, FollowingController, OwnRequest, RequestOrigin
from ottla.broker.lifecycle import BrokerLifecycle, BrokerRefused, LifecycleSettings
from ottla.broker.quorum import ImageReader
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Listener
from ottla.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from ottla.protocol.schema import Message
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
            await life.leave(running.log.until_undecidable())
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
            await life.leave(running.log.until_undecidable())
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
            await life.leave(running.log.until_undecidable())

    asyncio.run(scenario())


def test_a_full_disk_does_not_keep_a_broker() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life, _ = await broker(running, 1)
            running.controller.space_changed(DiskFull(ROOT, "write", ROOT, "No space left on device"))
            await life.leave(running.log.until_undecidable())

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
            await life.leave(running.log.until_undecidable())

    asyncio.run(scenario())


class OverTheWire:
    """The controller as a broker on another node meets it; keeps what it was asked."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.asked: list[Message] = []
        # What becomes of the next registrations.
        self.failures: list[Exception] = []

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        self.asked.append(request)
        if isinstance(request, BrokerRegistrationRequest) and self.failures:
            raise self.failures.pop(0)
        remote = SimpleNamespace(api_version=origin.api_version, principal="User:b", client_host="10.0.0.1")
        try:
            return await self._controller.handle(remote, request)
        except ApiError as error:
            if error.code is ErrorCode.NOT_CONTROLLER:
                raise
            # Answers to brokers have no place for a message.
            raise ApiError(error.code) from None


QUICK = LifecycleSettings(heartbeat_interval_s=0.01, registration_timeout_s=0.3)


@asynccontextmanager
async def remote_broker(
    running: LoneQuorum, *, incarnation: bytes = b"i", settings: LifecycleSettings = QUICK
) -> AsyncIterator[tuple[BrokerLifecycle, ImageReader, OverTheWire]]:
    reader = running.log.reader()
    reader.start(follow, "broker 1")
    controller = OverTheWire(running.controller)
    life = BrokerLifecycle(1, "cluster", controller, reader, settings)
    try:
        await life.register(
            incarnation_id=incarnation * 16,
            listeners=[Listener(name="PLAINTEXT", host="here", port=9092)],
            log_dirs=[b"directory of one", b"directory of two"],
            rack=None,
            previous_broker_epoch=17,
        )
        yield life, reader, controller
    finally:
        await life.stop()


def test_a_broker_tells_which_life_ended_cleanly_and_goes_on_with_heartbeats() -> None:
    async def scenario() -> None:
        async with quorum() as running, remote_broker(running) as (life, _, controller):
            registration = controller.asked[0]
            assert isinstance(registration, BrokerRegistrationRequest)
            assert registration.previous_broker_epoch == 17

            async def heartbeats() -> int:
                return sum(isinstance(request, BrokerHeartbeatRequest) for request in controller.asked)

            await eventually_async(heartbeats, lambda count: count > 5)
            assert life.broker_epoch > 0

    asyncio.run(scenario())


@pytest.mark.parametrize("failures", [[], [RuntimeError("nobody has foreseen this")]], ids=["well", "after a failure"])
def test_a_broker_that_the_controller_has_forgotten_registers_again(failures: list[Exception]) -> None:
    async def scenario() -> None:
        async with quorum() as running, remote_broker(running) as (life, reader, controller):
            controller.failures = list(failures)
            former = life.broker_epoch
            record = UnregisterBrokerRecord(broker_id=1, broker_epoch=former)
            await running.controller.submit(lambda image: Decision([record], None))

            async def is_back() -> bool:
                return life.broker_epoch > former and reader.image.brokers.is_active(1)

            await eventually_async(is_back)

    asyncio.run(scenario())


def test_a_new_life_waits_for_the_session_of_the_former_one_and_gives_up_with_a_reason() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            async with remote_broker(running) as (former, _, _):
                pass
            with pytest.raises(BrokerRefused, match=r"node.id 1 is registered and alive.*broker.session.timeout.ms"):
                async with remote_broker(running, incarnation=b"j"):
                    pass
            running.controller._surroundings.sessions.forget(1)
            async with remote_broker(running, incarnation=b"j") as (life, _, _):
                assert life.broker_epoch > former.broker_epoch

    asyncio.run(scenario())


def test_a_broker_says_which_feature_it_does_not_support() -> None:
    """As with the levels that Apache Kafka's controllers choose for a new cluster."""

    async def scenario() -> None:
        async with quorum() as running:
            record = FeatureLevelRecord(name="group.version", feature_level=1)
            await running.controller.submit(lambda image: Decision([record], None))
            with pytest.raises(BrokerRefused, match=r"group.version is finalised at 1, .*supports up to 0.*downgrade"):
                async with remote_broker(running):
                    pass

    asyncio.run(scenario())


def test_a_broker_that_another_cluster_refuses_names_its_own() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            life = BrokerLifecycle(1, "elsewhere", OverTheWire(running.controller), running.log.reader())
            with pytest.raises(BrokerRefused, match="belongs to cluster elsewhere"):
                await life.register(incarnation_id=b"i" * 16, listeners=(), log_dirs=(), rack=None)

    asyncio.run(scenario())


def test_a_broker_without_a_controller_gives_up_when_its_time_is_over() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            running.controller._end("there is none")
            with pytest.raises(BrokerRefused, match=r"within 300 ms .*not the active controller"):
                async with remote_broker(running):
                    pass

    asyncio.run(scenario())


def test_a_directory_that_fails_is_reported_at_once() -> None:
    async def scenario() -> None:
        patient = LifecycleSettings(heartbeat_interval_s=3600)
        async with quorum() as running, remote_broker(running, settings=patient) as (life, _, controller):
            life.directory_failed(b"directory of two")

            async def reported() -> bool:
                newest = controller.asked[-1]
                return isinstance(newest, BrokerHeartbeatRequest) and list(newest.offline_log_dirs) == [
                    b"directory of two"
                ]

            await eventually_async(reported)

    asyncio.run(scenario())


def test_a_broker_that_steps_aside_is_fenced_at_once_and_returns() -> None:
    async def scenario() -> None:
        patient = LifecycleSettings(heartbeat_interval_s=3600)
        async with quorum() as running, remote_broker(running, settings=patient) as (life, reader, _):

            async def is_active() -> bool:
                return reader.image.brokers.is_active(1)

            life.step_aside(True)
            await eventually_async(is_active, lambda active: not active)
            life.step_aside(False)
            await eventually_async(is_active)

    asyncio.run(scenario())


def test_a_broker_does_not_ask_to_leave_longer_than_its_session_lasts_if_nobody_answers() -> None:
    async def scenario() -> None:
        brief = LifecycleSettings(session_timeout_s=0.2)
        async with quorum() as running, remote_broker(running, settings=brief) as (life, _, controller):
            running.controller._end("there is none any more")
            await life.leave(running.log.until_undecidable())
            assert sum(isinstance(request, BrokerHeartbeatRequest) for request in controller.asked) > 2

    # LEAVE_TIMEOUT_S is longer than this test may take.
    asyncio.run(scenario())
