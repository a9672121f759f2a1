import pytest

from ottla.metadata.controller.brokers import (
    BrokerRegistration,
    BrokerSessions,
    Heartbeat,
    answer_heartbeat,
    fence_broker,
    register_broker,
    unfence_broker,
    unregister_broker,
)
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.image import NO_LEADER, ClusterImage, Endpoint, VersionRange
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

RULES = ElectionRules()


def registration(broker_id: int = 1, life: bytes = b"incarnation id 1") -> BrokerRegistration:
    return BrokerRegistration(
        broker_id,
        life,
        (Endpoint("PLAINTEXT", "host", 9092),),
        {"metadata.version": VersionRange(7, 30)},
        (directory(broker_id),),
        rack="r",
    )


def leader(image: ClusterImage, partition: int = 0) -> int:
    state = image.topics.partition(topic_id(1), partition)
    assert state is not None
    return state.leader


def test_a_new_broker_starts_fenced_with_the_offset_as_its_epoch() -> None:
    image = ClusterImage(end_offset=42)
    decision = register_broker(image, registration(), rules=RULES)
    assert decision.response == 42
    broker = applied(image, decision).brokers.get(1)
    assert broker is not None
    assert (broker.epoch, broker.is_fenced, broker.rack, broker.log_dirs) == (42, True, "r", (directory(1),))
    assert broker.endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "host", 9092)


def test_the_registration_is_the_first_record_so_that_its_offset_is_the_epoch() -> None:
    image = with_topic(cluster(1), "t", (1,))
    decision = register_broker(image, registration(), rules=RULES)
    assert isinstance(decision.records[0], RegisterBrokerRecord)
    assert len(decision.records) == 2


def test_asking_again_in_the_same_life_changes_nothing() -> None:
    image = applied(
        ClusterImage(end_offset=42), register_broker(ClusterImage(end_offset=42), registration(), rules=RULES)
    )
    decision = register_broker(image, registration(), rules=RULES)
    assert (decision.records, decision.response) == ([], 42)


def test_an_id_in_use_is_refused() -> None:
    with pytest.raises(ApiError, match="id 1") as raised:
        register_broker(cluster(1), registration(), has_live_session=True, rules=RULES)
    assert raised.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_restarted_broker_leads_again_in_a_new_epoch_once_unfenced() -> None:
    image = with_topic(cluster(1), "t", (1,), (1,))
    restarted = applied(image, register_broker(image, registration(), rules=RULES))
    assert leader(restarted) == NO_LEADER
    back = applied(restarted, unfence_broker(restarted, 1, image.end_offset, rules=RULES))
    state = back.topics.partition(topic_id(1), 1)
    assert state is not None
    assert (state.leader, state.isr, state.leader_epoch) == (1, (1,), 2)


def test_fencing_moves_leadership_away() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    assert leader(applied(image, fence_broker(image, 1, 1001, rules=RULES))) == 2


def test_fencing_and_unfencing_twice_writes_nothing() -> None:
    image = cluster(1, 2, fenced=[2])
    assert not unfence_broker(image, 1, 1001, rules=RULES).records
    assert not fence_broker(image, 2, 1002, rules=RULES).records


def test_an_epoch_of_an_earlier_life_is_refused() -> None:
    with pytest.raises(ApiError) as raised:
        answer_heartbeat(cluster(1), Heartbeat(broker_id=1, broker_epoch=7, metadata_offset=0), rules=RULES)
    assert raised.value.code is ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(ApiError) as raised:
        answer_heartbeat(cluster(1), Heartbeat(broker_id=9, broker_epoch=7, metadata_offset=0), rules=RULES)
    assert raised.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_is_unfenced_when_it_has_seen_its_own_registration() -> None:
    image = cluster(1, fenced=[1])
    behind = answer_heartbeat(image, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=1000), rules=RULES)
    assert (behind.response.is_fenced, behind.response.is_caught_up, behind.records) == (True, False, [])
    caught_up = answer_heartbeat(image, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=1001), rules=RULES)
    assert not caught_up.response.is_fenced
    assert applied(image, caught_up).brokers.is_active(1)


def test_a_broker_can_ask_to_stay_or_become_fenced() -> None:
    fenced = cluster(1, fenced=[1])
    stays = answer_heartbeat(
        fenced, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=2000, wants_fence=True), rules=RULES
    )
    assert stays.response.is_fenced
    active = cluster(1)
    becomes = answer_heartbeat(
        active, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=2000, wants_fence=True), rules=RULES
    )
    assert not applied(active, becomes).brokers.is_active(1)


def test_a_controlled_shutdown_first_moves_leaderships_then_lets_the_broker_go() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    first = answer_heartbeat(
        image, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=2000, wants_shutdown=True), rules=RULES
    )
    assert not first.response.should_shut_down
    moved = applied(image, first)
    assert leader(moved) == 2
    assert not moved.brokers.is_active(1)
    second = answer_heartbeat(
        moved, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=2000, wants_shutdown=True), rules=RULES
    )
    assert second.response.should_shut_down
    assert applied(moved, second).brokers.unfenced() == [moved.brokers.get(2)]


def test_a_lone_broker_may_stop_at_once() -> None:
    image = with_topic(cluster(1), "t", (1,))
    decision = answer_heartbeat(
        image, Heartbeat(broker_id=1, broker_epoch=1001, metadata_offset=2000, wants_shutdown=True), rules=RULES
    )
    assert decision.response.should_shut_down
    assert leader(applied(image, decision)) == NO_LEADER


def test_a_broker_can_be_removed_for_good() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    removed = applied(image, unregister_broker(image, 1, rules=RULES))
    assert removed.brokers.get(1) is None
    assert leader(removed) == 2
    with pytest.raises(ApiError):
        unregister_broker(removed, 1, rules=RULES)


class TestSessions:
    def test_a_silent_broker_expires(self) -> None:
        sessions = BrokerSessions(session_timeout_ms=100)
        image = cluster(1, 2)
        sessions.touch(1, 0)
        sessions.touch(2, 0)
        sessions.touch(1, 90)
        assert sessions.expired(image, 100) == [2]

    def test_after_a_change_of_controller_everyone_gets_a_whole_session(self) -> None:
        sessions = BrokerSessions(session_timeout_ms=100)
        assert sessions.expired(cluster(1), 5000) == []
        assert sessions.expired(cluster(1), 5099) == []
        assert sessions.expired(cluster(1), 5100) == [1]

    def test_a_forgotten_broker_has_no_session(self) -> None:
        sessions = BrokerSessions()
        sessions.touch(1, 0)
        assert sessions.is_alive(1, 10)
        sessions.forget(1)
        assert not sessions.is_alive(1, 10)
