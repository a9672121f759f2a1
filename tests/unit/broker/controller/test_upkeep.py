"""What the active controller does by itself, on a decision log that a test holds."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.controller.deciders import Surroundings
from ottla.broker.controller.upkeep import Upkeep
from ottla.broker.host import Machine
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_config, with_topic

T = TypeVar("T")


class Decisions:
    """An active controller whose records are committed at once, or refused."""

    def __init__(self, image: ClusterImage) -> None:
        self.is_refusing = False
        self.has_decided = asyncio.Event()
        self.count = 0
        self.active = ActiveController(image, 1, self._append)
        self._end_offset = image.end_offset

    def _append(self, records: object) -> int:
        base, self._end_offset = self._end_offset, self._end_offset + len(list(records))  # type: ignore[call-overload]
        return base

    async def submit(self, decide: Callable[[ClusterImage], Decision[T]]) -> T:
        self.count += 1
        self.has_decided.set()
        if self.is_refusing:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "no space")
        response, _ = self.active.decide(decide)
        return response

    def upkeep(self, session_timeout_ms: int, **settings: str) -> Upkeep:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092") | given)
        host = Machine()
        surroundings = Surroundings("cluster", config, DynamicConfigs(config), host, lambda: 1)
        sessions = BrokerSessions(session_timeout_ms, self.active.pending, surroundings.now_ms())
        by = Surroundings("cluster", config, DynamicConfigs(config), host, lambda: 1, sessions)
        return Upkeep(self.active, by, self.submit)

    async def until(self, is_done: Callable[[ClusterImage], bool]) -> None:
        while not is_done(self.active.pending):
            self.has_decided.clear()
            await self.has_decided.wait()


def test_silent_brokers_are_fenced_one_after_the_other_and_each_sees_the_one_before() -> None:
    async def scenario() -> None:
        decisions = Decisions(with_topic(cluster(1, 2, 3), "t", (1, 2, 3)))
        upkeep = decisions.upkeep(session_timeout_ms=8)
        await decisions.until(lambda image: not image.brokers.unfenced())
        state = decisions.active.pending.topics.partition(topic_id(1), 0)
        assert state is not None
        assert (state.leader, state.isr) == (-1, (3,))
        upkeep.stop()

    asyncio.run(scenario())


def test_a_decision_that_cannot_be_written_is_tried_again() -> None:
    async def scenario() -> None:
        decisions = Decisions(cluster(1))
        decisions.is_refusing = True
        upkeep = decisions.upkeep(session_timeout_ms=8)
        await decisions.until(lambda image: decisions.count > 1)
        assert decisions.active.pending.brokers.is_active(1)
        decisions.is_refusing = False
        await decisions.until(lambda image: not image.brokers.is_active(1))
        upkeep.stop()

    asyncio.run(scenario())


def test_a_process_that_is_gone_is_fenced_at_once() -> None:
    async def scenario() -> None:
        decisions = Decisions(cluster(1, 2))
        upkeep = decisions.upkeep(session_timeout_ms=3_600_000)
        await upkeep.broker_died(1, 7)
        assert [broker.id for broker in decisions.active.pending.brokers.unfenced()] == [1, 2]
        await upkeep.broker_died(1, 1001)
        assert [broker.id for broker in decisions.active.pending.brokers.unfenced()] == [2]
        upkeep.stop()

    asyncio.run(scenario())


def test_leaderships_go_back_to_preferred_replicas_from_time_to_time() -> None:
    async def scenario() -> None:
        image = with_topic(cluster(1, 2), "t", (1, 2))
        moved = PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=2)
        decisions = Decisions(applied(image, [moved]))
        upkeep = decisions.upkeep(session_timeout_ms=3_600_000, leader_imbalance_check_interval_seconds="1")

        def is_led_by_1(image: ClusterImage) -> bool:
            state = image.topics.partition(topic_id(1), 0)
            return state is not None and state.leader == 1

        await decisions.until(is_led_by_1)
        upkeep.stop()

    asyncio.run(scenario())


def test_leaderless_partitions_get_a_leader_once_their_topic_allows_it() -> None:
    async def scenario() -> None:
        image = with_topic(cluster(1, 2, fenced=[1]), "t", (2, 1))
        offline = PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=-1, isr=(1,))
        image = with_config(
            applied(image, [offline]), ResourceType.TOPIC, "t", "unclean.leader.election.enable", "true"
        )
        decisions = Decisions(image)
        upkeep = decisions.upkeep(session_timeout_ms=3_600_000, unclean_leader_election_interval_ms="5")
        await decisions.until(lambda image: image.topics.partition_of("t", 0).leader == 2)  # type: ignore[union-attr]
        upkeep.stop()

    asyncio.run(scenario())
