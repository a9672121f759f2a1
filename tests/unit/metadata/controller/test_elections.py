import pytest

from ottla.metadata.controller.brokers import fence_broker, unfence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.elections import elect_leaders, elect_missing_leaders, elect_preferred_leaders
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState, ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_config, with_topic

RULES = ElectionRules()
PREFERRED, UNCLEAN = 0, 1


def led_by(image: ClusterImage, leader: int, *partitions: int, isr: tuple[int, ...] = (1, 2)) -> ClusterImage:
    return applied(
        image,
        [PartitionChangeRecord(topic_id=topic_id(1), partition_id=i, leader=leader, isr=isr) for i in partitions],
    )


IMAGE = led_by(with_topic(cluster(1, 2), "t", (1, 2), (1, 2), (2, 1)), 2, 0, 1)
# Broker 1 has every record, and is away.
OFFLINE = led_by(with_topic(cluster(1, 2, fenced=[1]), "t", (2, 1)), NO_LEADER, 0, isr=(1,))


def elect(
    image: ClusterImage, kind: int, named: dict[str, list[int]] | None, rules: ElectionRules = RULES
) -> tuple[dict[tuple[str, int], int], ClusterImage]:
    """Error codes by partition, and the image after the elections."""
    rows = None if named is None else [TopicPartitions(topic=name, partitions=ids) for name, ids in named.items()]
    decision = elect_leaders(image, ElectLeadersRequest(election_type=kind, topic_partitions=rows), rules=rules)
    results = decision.response.replica_election_results
    codes = {(x.topic, row.partition_id): row.error_code for x in results for row in x.partition_result}
    return codes, applied(image, decision)


def state(image: ClusterImage, partition: int = 0) -> PartitionState:
    found = image.topics.partition(topic_id(1), partition)
    assert found is not None
    return found


def leaders(image: ClusterImage) -> list[int]:
    topic = image.topics.by_id(topic_id(1))
    assert topic is not None
    return [topic.partitions[i].leader for i in sorted(topic.partitions)]


class TestPreferred:
    def test_the_first_replica_leads_again(self) -> None:
        codes, after = elect(IMAGE, PREFERRED, {"t": [0]})
        assert codes == {("t", 0): ErrorCode.NONE}
        assert leaders(after) == [1, 2, 2]

    def test_one_that_leads_already_needs_no_election(self) -> None:
        codes, after = elect(IMAGE, PREFERRED, {"t": [2, 0, 0]})
        assert codes[("t", 2)] == ErrorCode.ELECTION_NOT_NEEDED
        assert codes[("t", 0)] == ErrorCode.ELECTION_NOT_NEEDED, "the second time"
        assert leaders(after) == [1, 2, 2]

    def test_all_partitions_are_meant_if_none_is_named(self) -> None:
        codes, after = elect(IMAGE, PREFERRED, None)
        assert codes == {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.NONE}
        assert leaders(after) == [1, 1, 2]

    def test_one_that_is_not_in_sync_cannot_lead(self) -> None:
        image = led_by(IMAGE, 2, 0, isr=(2,))
        codes, after = elect(image, PREFERRED, {"t": [0]})
        assert codes == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
        assert after == image

    def test_what_does_not_exist_is_named(self) -> None:
        codes, _ = elect(IMAGE, PREFERRED, {"t": [9], "none": [0]})
        assert set(codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


class TestUnclean:
    def test_whoever_is_there_leads_and_recovers(self) -> None:
        codes, after = elect(OFFLINE, UNCLEAN, {"t": [0]})
        assert codes == {("t", 0): ErrorCode.NONE}
        found = state(after)
        assert (found.leader, found.isr, found.leader_recovery_state) == (2, (2,), 1)

    def test_a_partition_with_a_leader_needs_none(self) -> None:
        codes, after = elect(IMAGE, UNCLEAN, {"t": [0]})
        assert (codes, after) == ({("t", 0): ErrorCode.ELECTION_NOT_NEEDED}, IMAGE)

    def test_without_any_broker_there_is_no_leader(self) -> None:
        image = applied(OFFLINE, fence_broker(OFFLINE, 2, 1002, rules=RULES))
        codes, _ = elect(image, UNCLEAN, {"t": [0]})
        assert codes == {("t", 0): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_a_type_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ApiError, match="INVALID_REQUEST: Unknown election type 7"):
        elect(IMAGE, 7, None)


class TestByItself:
    def test_leaderships_go_back_to_where_they_were_placed(self) -> None:
        decision = elect_preferred_leaders(IMAGE, rules=RULES, limit=10)
        assert not decision.response
        assert leaders(applied(IMAGE, decision)) == [1, 1, 2]

    def test_a_few_at_a_time(self) -> None:
        first = elect_preferred_leaders(IMAGE, rules=RULES, limit=1)
        assert first.response
        image = applied(IMAGE, first)
        assert leaders(image) == [1, 2, 2]
        assert leaders(applied(image, elect_preferred_leaders(image, rules=RULES, limit=1))) == [1, 1, 2]

    def test_unclean_leaders_are_found_where_the_topic_allows_it(self) -> None:
        assert not elect_missing_leaders(OFFLINE, rules=RULES, limit=10).records
        allowed = with_config(OFFLINE, ResourceType.TOPIC, "t", "unclean.leader.election.enable", "true")
        assert leaders(applied(allowed, elect_missing_leaders(allowed, rules=RULES, limit=10))) == [2]

    def test_a_leader_that_a_former_controller_did_not_get_to_is_found(self) -> None:
        back = applied(OFFLINE, [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1001, fenced=-1)])
        assert leaders(applied(back, elect_missing_leaders(back, rules=RULES, limit=10))) == [1]

    def test_a_clean_leader_that_returns_is_taken_without_them(self) -> None:
        back = applied(OFFLINE, unfence_broker(OFFLINE, 1, 1001, rules=RULES))
        assert (state(back).leader, state(back).leader_recovery_state) == (1, 0)
