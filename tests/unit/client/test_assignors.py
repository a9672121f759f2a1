"""How partitions are divided: the examples of Kafka's documentation, and what must hold in every case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.assignors import (
    ASSIGNORS,
    Assignment,
    assign_cooperative_sticky,
    assign_range,
    assign_round_robin,
)
from ottla.client.consumer_protocol import Subscription
from ottla.protocol.topic_partition import TopicPartition

BOTH = Subscription(("T1", "T2"))
TWO_BY_THREE = {"T1": 3, "T2": 3}


def written(assignment: Assignment) -> dict[str, list[str]]:
    return {member: [str(partition) for partition in sorted(held)] for member, held in assignment.items()}


def test_range_gives_runs_of_each_topic() -> None:
    assert written(assign_range({"C1": BOTH, "C2": BOTH}, TWO_BY_THREE)) == {
        "C1": ["T1-0", "T1-1", "T2-0", "T2-1"],
        "C2": ["T1-2", "T2-2"],
    }


def test_round_robin_deals_out_in_turn() -> None:
    assert written(assign_round_robin({"C1": BOTH, "C2": BOTH}, TWO_BY_THREE)) == {
        "C1": ["T1-0", "T1-2", "T2-1"],
        "C2": ["T1-1", "T2-0", "T2-2"],
    }


def test_round_robin_passes_over_who_is_not_subscribed() -> None:
    members = {"C1": Subscription(("T1",)), "C2": BOTH}
    assert written(assign_round_robin(members, {"T1": 2, "T2": 2})) == {
        "C1": ["T1-0"],
        "C2": ["T1-1", "T2-0", "T2-1"],
    }


def test_cooperative_sticky_leaves_the_moving_partitions_out() -> None:
    owned = tuple(TopicPartition("T1", number) for number in range(4))
    members = {"C1": Subscription(("T1",), owned, 1), "C2": Subscription(("T1",))}
    assert written(assign_cooperative_sticky(members, {"T1": 4})) == {"C1": ["T1-0", "T1-1"], "C2": []}


def test_cooperative_sticky_gives_them_away_in_the_next_rebalance() -> None:
    kept = (TopicPartition("T1", 0), TopicPartition("T1", 1))
    members = {"C1": Subscription(("T1",), kept, 2), "C2": Subscription(("T1",), (), 2)}
    assert written(assign_cooperative_sticky(members, {"T1": 4})) == {
        "C1": ["T1-0", "T1-1"],
        "C2": ["T1-2", "T1-3"],
    }


def test_cooperative_sticky_believes_the_later_generation() -> None:
    both_claim = (TopicPartition("T1", 0),)
    members = {"C1": Subscription(("T1",), both_claim, 3), "C2": Subscription(("T1",), both_claim, 4)}
    assert written(assign_cooperative_sticky(members, {"T1": 2})) == {"C1": ["T1-1"], "C2": ["T1-0"]}


def test_cooperative_sticky_believes_neither_of_two_in_one_generation() -> None:
    both_claim = (TopicPartition("T1", 0),)
    members = {"C1": Subscription(("T1",), both_claim, 3), "C2": Subscription(("T1",), both_claim, 3)}
    assigned = assign_cooperative_sticky(members, {"T1": 1})
    assert sorted(len(held) for held in assigned.values()) == [0, 1]


def test_a_balanced_group_is_left_alone() -> None:
    held = {
        "C1": (TopicPartition("T1", 2), TopicPartition("T2", 0)),
        "C2": (TopicPartition("T1", 0), TopicPartition("T1", 1)),
    }
    members = {member: Subscription(("T1", "T2"), owned, 1) for member, owned in held.items()}
    assigned = assign_cooperative_sticky(members, {"T1": 3, "T2": 1})
    assert {member: tuple(sorted(partitions)) for member, partitions in assigned.items()} == held


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_a_topic_that_does_not_exist_is_assigned_to_nobody(name: str) -> None:
    assert ASSIGNORS[name].assign({"C1": Subscription(("nope",))}, {}) == {"C1": []}


topics = st.sampled_from(["A", "B", "C"])
groups = st.dictionaries(
    st.sampled_from(["m1", "m2", "m3", "m4"]),
    st.sets(topics, min_size=1).map(lambda chosen: Subscription(tuple(sorted(chosen)))),
    min_size=1,
)
counts = st.dictionaries(topics, st.integers(0, 6))


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@given(members=groups, partition_counts=counts)
def test_every_partition_goes_to_one_subscriber(
    name: str, members: dict[str, Subscription], partition_counts: dict[str, int]
) -> None:
    assigned = ASSIGNORS[name].assign(members, partition_counts)
    given_out = sorted(partition for held in assigned.values() for partition in held)
    wanted = {topic for subscription in members.values() for topic in subscription.topics}
    expected = [TopicPartition(topic, n) for topic in sorted(wanted) for n in range(partition_counts.get(topic, 0))]
    assert given_out == expected
    assert all(partition.topic in members[member].topics for member, held in assigned.items() for partition in held)


@given(members=groups, later=groups, partition_counts=counts)
def test_cooperative_rebalances_end_balanced_and_never_share_a_partition(
    members: dict[str, Subscription], later: dict[str, Subscription], partition_counts: dict[str, int]
) -> None:
    held = assign_cooperative_sticky(members, partition_counts)
    for generation in range(1, 4):
        asked = {
            member: Subscription(subscription.topics, tuple(held.get(member, ())), generation)
            for member, subscription in later.items()
        }
        before, held = held, assign_cooperative_sticky(asked, partition_counts)
        for member, partitions in held.items():
            for other in later.keys() - {member}:
                still_held = {each for each in before.get(other, ()) if each.topic in later[other].topics}
                assert not still_held & set(partitions)
    again = assign_cooperative_sticky(
        {m: Subscription(s.topics, tuple(held[m]), 9) for m, s in later.items()}, partition_counts
    )
    assert again == held
    if len({subscription.topics for subscription in later.values()}) == 1:
        sizes = [len(partitions) for partitions in held.values()]
        assert max(sizes) - min(sizes) <= 1
