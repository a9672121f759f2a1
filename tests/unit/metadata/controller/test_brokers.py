import pytest

from ottla.metadata.controller.brokers import fence_broker, known_broker, unfence_broker, unregister_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_topic

RULES = ElectionRules()


def leader(image: ClusterImage) -> int:
    state = image.topics.partition(topic_id(1), 0)
    assert state is not None
    return state.leader


def test_fencing_moves_leadership_away() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    decision = fence_broker(image, 1, 1001, rules=RULES)
    assert leader(applied(image, decision)) == 2
    assert isinstance(decision.records[-1], BrokerRegistrationChangeRecord), "else a half-written decision is forgotten"


def test_unfencing_gives_back_what_nobody_else_could_lead() -> None:
    image = with_topic(cluster(1), "t", (1,))
    fenced = applied(image, fence_broker(image, 1, 1001, rules=RULES))
    assert leader(fenced) == -1
    assert leader(applied(fenced, unfence_broker(fenced, 1, 1001, rules=RULES))) == 1


def test_fencing_and_unfencing_twice_writes_nothing() -> None:
    image = cluster(1, 2, fenced=[2])
    assert not unfence_broker(image, 1, 1001, rules=RULES).records
    assert not fence_broker(image, 2, 1002, rules=RULES).records


def test_an_epoch_of_an_earlier_life_is_refused() -> None:
    with pytest.raises(ApiError) as raised:
        known_broker(cluster(1), 1, 7)
    assert raised.value.code is ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(ApiError) as raised:
        known_broker(cluster(1), 9, 7)
    assert raised.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_can_be_removed_for_good() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    removed = applied(image, unregister_broker(image, 1, rules=RULES))
    assert removed.brokers.get(1) is None
    assert leader(removed) == 2
    with pytest.raises(ApiError, match="BROKER_ID_NOT_REGISTERED"):
        unregister_broker(removed, 1, rules=RULES)


def test_a_broker_that_is_removed_is_not_eligible_any_more() -> None:
    image = with_topic(cluster(1, 2), "t", (1, 2))
    elr = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)
    below = PartitionChangeRecord(
        topic_id=topic_id(1), partition_id=0, isr=(2,), leader=2, eligible_leader_replicas=[1]
    )
    image = applied(image, [elr, below])
    removed = applied(image, unregister_broker(image, 1, rules=ElectionRules(min_insync_replicas=2)))
    state = removed.topics.partition(topic_id(1), 0)
    assert state is not None
    assert (state.isr, state.eligible_leader_replicas) == ((2,), ())
