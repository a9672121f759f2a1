from ottla.cli.topics.states import TopicState, is_at_min_isr, is_unavailable, is_under_min_isr, is_under_replicated
from ottla.client.admin.configs import ConfigEntry, ConfigSource
from ottla.client.admin.topics import PartitionDescription, TopicDescription

BEHIND = PartitionDescription(0, 1, 0, replicas=(1, 2, 3), in_sync=(1, 2))
WHOLE = PartitionDescription(1, 2, 0, replicas=(1, 2, 3), in_sync=(1, 2, 3))
LOST = PartitionDescription(2, -1, 0, replicas=(3,), in_sync=())


def test_a_partition_is_under_replicated_while_a_replica_is_behind() -> None:
    assert [is_under_replicated(each) for each in (BEHIND, WHOLE, LOST)] == [True, False, True]


def test_a_partition_is_unavailable_without_a_leader_that_lives() -> None:
    assert [is_unavailable(each, {1}) for each in (BEHIND, WHOLE, LOST)] == [False, True, True]


def test_the_minimum_of_in_sync_replicas_is_met_exceeded_or_missed() -> None:
    assert [is_under_min_isr(each, 2) for each in (BEHIND, WHOLE, LOST)] == [False, False, True]
    assert [is_at_min_isr(each, 2) for each in (BEHIND, WHOLE, LOST)] == [True, False, False]


def test_settings_that_are_not_defaults_are_told_wherever_they_come_from() -> None:
    entries = {
        "a": ConfigEntry("a", "1", ConfigSource.TOPIC),
        "b": ConfigEntry("b", "2", ConfigSource.STATIC_BROKER),
        "min.insync.replicas": ConfigEntry("min.insync.replicas", "2", ConfigSource.DEFAULT),
    }
    state = TopicState(TopicDescription("t"), entries)
    assert state.changed_configs == {"a": "1", "b": "2"}
    assert state.min_in_sync == 2
    assert TopicState(TopicDescription("t"), {}).min_in_sync == 1
