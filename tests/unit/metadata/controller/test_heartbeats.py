from typing import Any

import pytest

from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.heartbeats import Heartbeat, HeartbeatResult, answer_heartbeat
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

NOW_MS = 7


class Controller:
    """An active controller of a cluster, to which brokers send heartbeats."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.sessions = BrokerSessions(9000, image, NOW_MS)

    def beat(self, broker_id: int, offset: int | None = None, **wants: Any) -> HeartbeatResult:
        """Without an offset the broker has followed everything."""
        offset = self.image.end_offset - 1 if offset is None else offset
        self.sessions.heard(self.image, broker_id, 1000 + broker_id, offset, NOW_MS, is_local=False)
        beat = Heartbeat(broker_id, 1000 + broker_id, offset, **wants)
        decision = answer_heartbeat(self.image, beat, sessions=self.sessions, rules=ElectionRules())
        self.image = applied(self.image, decision)
        if beat.wants_shutdown and decision.records:
            self.sessions.is_shutting_down(broker_id, self.image.end_offset)
        return decision.response

    def state(self, partition: int = 0) -> PartitionState:
        found = self.image.topics.partition(topic_id(1), partition)
        assert found is not None
        return found


def test_an_epoch_of_an_earlier_life_is_refused() -> None:
    image = cluster(1)
    with pytest.raises(ApiError, match="STALE_BROKER_EPOCH"):
        answer_heartbeat(image, Heartbeat(1, 7, 0), sessions=BrokerSessions(9000, image, NOW_MS), rules=ElectionRules())


def test_a_broker_is_unfenced_when_it_has_seen_its_own_registration() -> None:
    controller = Controller(cluster(1, fenced=[1]))
    controller.sessions.registered(1, 1001, 1007, NOW_MS, is_local=False)
    behind = controller.beat(1, 1006)
    assert (behind.is_fenced, behind.is_caught_up) == (True, False)
    assert controller.beat(1, 1007) == HeartbeatResult(is_caught_up=True, is_fenced=False)
    assert controller.image.brokers.is_active(1)


def test_a_broker_can_ask_to_stay_or_become_fenced() -> None:
    controller = Controller(cluster(1, fenced=[1]))
    assert controller.beat(1, wants_fence=True).is_fenced
    assert not controller.beat(1).is_fenced
    assert controller.beat(1, wants_fence=True).is_fenced
    assert not controller.image.brokers.is_active(1)


class TestControlledShutdown:
    def test_it_first_moves_leaderships_then_lets_the_broker_go(self) -> None:
        controller = Controller(with_topic(cluster(1, 2), "t", (1, 2)))
        assert not controller.beat(1, wants_shutdown=True).should_shut_down
        assert controller.state().leader == 2
        assert not controller.image.brokers.is_active(1)
        controller.beat(2)
        assert controller.beat(1, wants_shutdown=True) == HeartbeatResult(True, is_fenced=True, should_shut_down=True)
        assert [broker.id for broker in controller.image.brokers.unfenced()] == [2]

    def test_it_waits_until_every_active_broker_knows_the_new_leaders(self) -> None:
        controller = Controller(with_topic(cluster(1, 2, 3), "t", (1, 2)))
        before = controller.image.end_offset - 1
        controller.beat(1, wants_shutdown=True)
        controller.beat(2)
        controller.beat(3, before)
        assert not controller.beat(1, wants_shutdown=True).should_shut_down
        controller.beat(3)
        assert controller.beat(1, wants_shutdown=True).should_shut_down

    def test_a_broker_that_leads_nothing_may_stop_at_once(self) -> None:
        controller = Controller(with_topic(cluster(1, 2), "t", (2, 1)))
        assert controller.beat(1, wants_shutdown=True).should_shut_down
        assert controller.state().isr == (2,)

    def test_a_lone_broker_may_stop_at_once(self) -> None:
        controller = Controller(with_topic(cluster(1), "t", (1,)))
        assert controller.beat(1, wants_shutdown=True).should_shut_down
        assert controller.state().leader == NO_LEADER

    def test_what_only_the_broker_can_lead_it_leads_until_it_stops(self) -> None:
        image = with_topic(cluster(1, 2), "t", (1, 2), (1, 2))
        alone = PartitionChangeRecord(topic_id=topic_id(1), partition_id=1, isr=(1,))
        controller = Controller(applied(image, [alone]))
        controller.beat(1, wants_shutdown=True)
        assert (controller.state(0).leader, controller.state(1).leader) == (2, 1)
        controller.beat(2)
        assert controller.beat(1, wants_shutdown=True).should_shut_down
        assert controller.state(1).leader == NO_LEADER

    def test_a_fenced_broker_may_stop(self) -> None:
        assert Controller(cluster(1, fenced=[1])).beat(1, wants_shutdown=True).should_shut_down


class TestFailedDirectories:
    FIRST, SECOND = directory(101), directory(102)

    def two_directories(self, *, fenced: bool = False) -> ClusterImage:
        """Partition 0 of broker 1 is in its first directory, partition 1 in its second."""
        image = with_topic(cluster(1, 2), "t", (1, 2), (1, 2))
        topic = image.topics.by_id(topic_id(1))
        assert topic is not None
        records = [topic.partitions[i].to_record(topic.id, i) for i in (0, 1)]
        records[0].directories, records[1].directories = (self.FIRST, directory(2)), (self.SECOND, directory(2))
        change = BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=1001, log_dirs=[self.FIRST, self.SECOND], fenced=1 if fenced else 0
        )
        return applied(image, [change, *records])

    def test_others_lead_what_was_there_and_nothing_else_moves(self) -> None:
        controller = Controller(self.two_directories())
        controller.beat(1, offline_log_dirs=(self.FIRST,))
        assert (controller.state(0).leader, controller.state(0).isr) == (2, (2,))
        assert (controller.state(1).leader, controller.state(1).isr) == (1, (1, 2))
        broker = controller.image.brokers.get(1)
        assert broker is not None
        assert broker.log_dirs == (self.SECOND,)

    def test_reporting_it_again_changes_nothing(self) -> None:
        controller = Controller(self.two_directories())
        controller.beat(1, offline_log_dirs=(self.FIRST,))
        before = controller.image
        controller.beat(1, offline_log_dirs=(self.FIRST,))
        assert controller.image == before

    def test_a_broker_that_returns_does_not_lead_what_it_lost(self) -> None:
        image = self.two_directories(fenced=True)
        topic = image.topics.by_id(topic_id(1))
        assert topic is not None
        offline = [topic.partitions[i].to_record(topic.id, i) for i in (0, 1)]
        for record in offline:
            record.leader, record.isr = NO_LEADER, (1,)
        controller = Controller(applied(image, offline))
        assert not controller.beat(1, offline_log_dirs=(self.FIRST,)).is_fenced
        assert (controller.state(0).leader, controller.state(1).leader) == (NO_LEADER, 1)
