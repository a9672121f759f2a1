"""The controller role: active while this node leads, and no longer."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.registrations import registration_request
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import OwnRequest
from ottla.broker.controller.deciders import Surroundings
from ottla.broker.controller.role import ControllerRole
from ottla.broker.host import Machine
from ottla.broker.quorum import MetadataLog
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message
from ottla.raft import OffsetAndEpoch
from ottla.raft.messages import BeginQuorumEpochRequest, VoteRequest
from unit.broker.quorum.scripted_peer import LOCAL, PEER, Node, Peer

pytestmark = pytest.mark.timeout(20)


def role(log: MetadataLog, settings: Mapping[str, str] | None = None) -> ControllerRole:
    config = BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092") | dict(settings or {}))
    return ControllerRole(log, Surroundings("cluster", config, DynamicConfigs(config), Machine(), lambda: 1))


async def elected(root: Path) -> tuple[MetadataLog, ControllerRole, Peer]:
    """Node 1 of two leads, the other votes for it and follows."""
    peer = Peer(votes=True)
    log = Node(root).create(peer)
    await log.open()
    controller = role(log)
    log.start()
    controller.start()
    await controller.until_active()
    assert controller.is_active
    return log, controller, peer


def create_topic(name: str) -> Callable[[ClusterImage], Decision[int]]:
    record = TopicRecord(name=name, topic_id=name.encode().ljust(16))
    return lambda image: Decision([record], image.end_offset)


def test_a_decision_is_answered_when_the_majority_has_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, controller, peer = await elected(tmp_path)
        offset = await controller.submit(create_topic("a"))
        assert log.committed_offset == offset + 1
        peer.is_following = False
        waiting = asyncio.create_task(controller.submit(create_topic("b")))
        await peer.was_served.wait()
        assert not waiting.done(), "it is durable here alone"
        peer.is_following = True
        peer.fetch(log.end_offset, log.leader_epoch or 0)
        await waiting
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


def test_losing_the_lead_ends_the_controller_and_those_who_wait_for_it_hear_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, controller, peer = await elected(tmp_path)
        peer.is_following = False
        waiting = asyncio.create_task(controller.submit(create_topic("a")))
        await peer.was_served.wait()
        epoch = log.leader_epoch
        assert epoch is not None
        peer.votes = False
        peer.ask(BeginQuorumEpochRequest(epoch + 1, PEER.id, LOCAL))
        assert not controller.is_active
        with pytest.raises(ApiError, match="not the active controller any more") as raised:
            await waiting
        assert raised.value.code is ErrorCode.NOT_CONTROLLER
        with pytest.raises(ApiError, match="NOT_CONTROLLER"):
            await controller.submit(create_topic("b"))
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


def test_a_lead_that_is_lost_in_the_very_step_of_a_decision_fails_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, controller, _ = await elected(tmp_path)
        shell = log._shell
        # No majority has fetched for longer than a leader may go on.
        shell._now_ms = lambda: log.monotonic_ms() + 2 * log.settings.raft.check_quorum_timeout_ms
        with pytest.raises(ApiError, match="NOT_CONTROLLER"):
            await controller.submit(create_topic("a"))
        assert not controller.is_active
        assert not log._publisher._written, "another leader may write something else there"
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


def test_a_lead_that_is_lost_before_the_controller_has_begun_is_no_failure(tmp_path: Path) -> None:
    async def scenario() -> None:
        peer = Peer(votes=True)
        log = Node(tmp_path).create(peer)
        await log.open()
        controller = role(log)
        was_lost = asyncio.Event()
        begin = controller._begin

        def begin_too_late(image: ClusterImage, epoch: int) -> None:
            if not was_lost.is_set():
                was_lost.set()
                peer.ask(VoteRequest(epoch + 1, PEER, LOCAL, OffsetAndEpoch(1000, epoch), pre_vote=False))
            begin(image, epoch)

        controller._begin = begin_too_late  # type: ignore[method-assign]
        log.start()
        controller.start()
        await controller.until_active()
        assert was_lost.is_set()
        assert controller.is_active, "by another election"
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


def test_gaining_the_lead_again_makes_a_controller_that_knows_what_was_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, controller, peer = await elected(tmp_path)
        await controller.submit(create_topic("a"))
        epoch = log.leader_epoch
        assert epoch is not None
        peer.ask(VoteRequest(epoch + 1, PEER, LOCAL, OffsetAndEpoch(1000, epoch), pre_vote=False))
        assert not controller.is_active
        reader = log.reader()
        # It stands again when its time has come, and the peer votes for it.
        while not controller.is_active:
            await reader.until(reader.image.end_offset + 1)
        assert (log.leader_epoch or 0) > epoch
        await controller.submit(create_topic("b"))
        assert {topic.name for topic in log.image.topics} >= {"a"}
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


def test_a_request_that_the_controller_does_not_decide_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        log, controller, _ = await elected(tmp_path)
        request = MetadataRequest()
        with pytest.raises(ApiError, match="does not serve MetadataRequest"):
            await controller.handle(OwnRequest.of(request), request)
        await controller.stop()
        await log.stop()

    asyncio.run(scenario())


class TestBrokers:
    """A broker on another node lives by its heartbeats."""

    @staticmethod
    async def with_broker(root: Path, session_timeout_ms: int) -> tuple[MetadataLog, ControllerRole, int]:
        """An active controller, and the epoch of broker 7, which is unfenced."""
        log = Node(root).create(Peer(votes=True))
        await log.open()
        controller = role(log, {"broker.session.timeout.ms": str(session_timeout_ms)})
        log.start()
        controller.start()
        await controller.until_active()
        registration = registration_request(7, "cluster")
        registered = await controller.handle(elsewhere(registration), registration)
        assert isinstance(registered, BrokerRegistrationResponse)
        beat = heartbeat(registered.broker_epoch, log)
        answer = await controller.handle(elsewhere(beat), beat)
        assert isinstance(answer, BrokerHeartbeatResponse)
        assert (answer.is_caught_up, answer.is_fenced) == (True, False)
        return log, controller, registered.broker_epoch

    def test_silence_fences_a_broker_and_a_heartbeat_brings_it_back(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            log, controller, epoch = await self.with_broker(tmp_path, session_timeout_ms=40)
            await until_fenced(log, 7)
            beat = heartbeat(epoch, log)
            answer = await controller.handle(elsewhere(beat), beat)
            assert isinstance(answer, BrokerHeartbeatResponse)
            assert not answer.is_fenced
            await controller.stop()
            await log.stop()

        asyncio.run(scenario())

    def test_a_process_that_is_gone_is_fenced_before_its_session_ends(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            log, controller, epoch = await self.with_broker(tmp_path, session_timeout_ms=3_600_000)
            await controller.broker_died(7, epoch - 1)
            await controller.broker_died(8, epoch)
            assert log.image.brokers.is_active(7), "that was another life, or another broker"
            await controller.broker_died(7, epoch)
            await until_fenced(log, 7)
            again = registration_request(7, "cluster", incarnation_id=b"next life".ljust(16))
            assert await controller.handle(elsewhere(again), again), "its id is free"
            await controller.stop()
            await log.stop()

        asyncio.run(scenario())

    def test_a_broker_that_may_stop_may_start_again_at_once(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            log, controller, epoch = await self.with_broker(tmp_path, session_timeout_ms=3_600_000)
            beat = heartbeat(epoch, log)
            beat.want_shut_down = True
            answer = await controller.handle(elsewhere(beat), beat)
            assert isinstance(answer, BrokerHeartbeatResponse)
            assert answer.should_shut_down
            again = registration_request(7, "cluster", incarnation_id=b"next life".ljust(16))
            assert await controller.handle(elsewhere(again), again)
            await controller.stop()
            await log.stop()

        asyncio.run(scenario())

    def test_a_shutdown_waits_for_what_it_moved_away_and_for_nothing_else(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            log, controller, epoch = await self.with_broker(tmp_path, session_timeout_ms=3_600_000)
            sessions = controller._surroundings.sessions
            beat = heartbeat(epoch, log)

            async def all_have_followed(cordoned: list[bytes]) -> bool:
                """Whether its last decision was followed by the broker, which names an old offset."""
                beat.cordoned_log_dirs = cordoned
                await controller.handle(elsewhere(beat), beat)
                return sessions.all_have_followed_shutdown(image, broker)

            image = log.image
            broker = image.brokers.get(7)
            assert broker is not None
            await controller.submit(create_topic("t"))
            assert await all_have_followed([*broker.log_dirs])
            leaving = BrokerRegistrationChangeRecord(broker_id=7, broker_epoch=epoch, in_controlled_shutdown=1)
            other = PartitionRecord(
                topic_id=b"t".ljust(16), replicas=[7, 8], isr=[7, 8], leader=7, directories=[bytes(16)] * 2
            )
            registration = registration_request(8, "cluster")
            registered = await controller.handle(elsewhere(registration), registration)
            assert isinstance(registered, BrokerRegistrationResponse)
            beat_of_other = heartbeat(registered.broker_epoch, log, broker_id=8)
            await controller.handle(elsewhere(beat_of_other), beat_of_other)
            await controller.submit(lambda image: Decision([leaving, other], None))
            # It does not say so any more, and leaves all the same.
            assert not beat.want_shut_down
            assert not await all_have_followed([])
            await controller.stop()
            await log.stop()

        asyncio.run(scenario())

    def test_an_id_is_taken_while_its_session_lives(self, tmp_path: Path) -> None:
        async def scenario() -> None:
            log, controller, _ = await self.with_broker(tmp_path, session_timeout_ms=3_600_000)
            again = registration_request(7, "cluster", incarnation_id=b"next life".ljust(16))
            with pytest.raises(ApiError, match="DUPLICATE_BROKER_REGISTRATION"):
                await controller.handle(elsewhere(again), again)
            # A broker in this process holds the lock of its directories.
            assert await controller.handle(OwnRequest.of(again), again)
            await controller.stop()
            await log.stop()

        asyncio.run(scenario())


@dataclass(frozen=True)
class Elsewhere:
    """The origin of a request that came over a connection."""

    api_version: int
    principal: str = "User:ANONYMOUS"
    client_host: str = "127.0.0.1"


def elsewhere(request: Message) -> Elsewhere:
    return Elsewhere(OwnRequest.of(request).api_version)


def heartbeat(epoch: int, log: MetadataLog, broker_id: int = 7) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=log.committed_offset)


async def until_fenced(log: MetadataLog, broker_id: int) -> None:
    reader = log.reader()

    async def follow(delta: ImageDelta, image: ClusterImage) -> None: ...

    reader.start(follow, "test")
    while reader.image.brokers.is_active(broker_id):
        await reader.until(reader.image.end_offset + 1)
    await reader.stop()
