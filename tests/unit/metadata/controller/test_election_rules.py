from ottla.metadata.controller.election_rules import ElectionRules, has_elr
from ottla.metadata.controller.partition_change import Election
from ottla.metadata.image import ClusterImage, PartitionState, ResourceType
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_config, with_topic

IMAGE = with_topic(cluster(1, 2, 3, fenced=[3]), "t", (1, 2, 3))


def state(image: ClusterImage = IMAGE) -> PartitionState:
    found = image.topics.partition(topic_id(1), 0)
    assert found is not None
    return found


def test_a_topics_own_value_comes_first() -> None:
    rules = ElectionRules(min_insync_replicas=2, is_unclean_allowed=False)
    assert (rules.min_isr(IMAGE, "t"), rules.allows_unclean(IMAGE, "t")) == (2, False)
    image = with_config(IMAGE, ResourceType.TOPIC, "t", "min.insync.replicas", "3")
    image = with_config(image, ResourceType.TOPIC, "t", "unclean.leader.election.enable", "true")
    assert (rules.min_isr(image, "t"), rules.allows_unclean(image, "t")) == (3, True)
    assert rules.terms(image, "t").circumstances(state()).election is Election.UNCLEAN


def test_the_minimum_is_never_above_the_number_of_replicas() -> None:
    assert ElectionRules(min_insync_replicas=7).terms(IMAGE, "t").circumstances(state()).min_isr == 3


def test_an_acceptable_leader_is_active_or_said_to_be() -> None:
    rules = ElectionRules()
    by = rules.terms(IMAGE, "t").circumstances(state())
    assert [by.is_acceptable(i) for i in (1, 2, 3, 4)] == [True, True, False, False]
    by = rules.terms(IMAGE, "t").circumstances(state(), leaving=1, returning=3)
    assert [by.is_acceptable(i) for i in (1, 2, 3, 4)] == [False, True, True, False]


def test_a_leader_whose_directory_is_offline_is_not_acceptable() -> None:
    failed = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1001, log_dirs=[directory(100)])
    image = applied(IMAGE, [failed])
    by = ElectionRules().terms(image, "t").circumstances(state(image))
    assert not by.is_acceptable(1)


def test_eligible_replicas_are_a_feature() -> None:
    assert not has_elr(IMAGE)
    level = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)
    assert has_elr(applied(IMAGE, [level]))
