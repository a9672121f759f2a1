import pytest

from ottla.cli.access.cluster_trouble import ClusterTrouble
from ottla.cli.topics.health import Problem, lost_brokers, problems_of
from ottla.cli.topics.states import TopicState
from ottla.client.addresses import Address
from ottla.client.admin.brokers import BrokerDescription
from ottla.client.admin.topics import PartitionDescription, TopicDescription

LIVE = {1, 2, 3}


def partition(leader: int, replicas: tuple[int, ...], in_sync: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(0, leader, 0, replicas=replicas, in_sync=in_sync)


@pytest.mark.parametrize(
    ("found", "problems"),
    [
        (partition(1, (1, 2, 3), (1, 2, 3)), ()),
        (partition(1, (1, 2, 3), (1, 2)), (Problem.AT_MIN_ISR, Problem.UNDER_REPLICATED)),
        (partition(1, (1, 2, 3), (1,)), (Problem.UNDER_MIN_ISR, Problem.UNDER_REPLICATED)),
        (partition(-1, (1, 2, 3), ()), (Problem.OFFLINE, Problem.UNDER_MIN_ISR, Problem.UNDER_REPLICATED)),
        (partition(4, (4, 1), (4, 1)), (Problem.OFFLINE,)),
    ],
)
def test_what_is_wrong_with_a_partition_is_told_the_worst_first(
    found: PartitionDescription, problems: tuple[Problem, ...]
) -> None:
    assert problems_of(found, 2, LIVE) == problems


def test_a_partition_needs_no_more_replicas_than_it_has_and_may_have_no_more_than_it_needs() -> None:
    assert problems_of(partition(1, (1,), (1,)), 2, LIVE) == ()
    assert problems_of(partition(1, (1, 2), (1, 2)), 2, LIVE) == ()


def test_a_broker_that_has_replicas_and_is_not_in_the_cluster_is_named() -> None:
    state = TopicState(TopicDescription("t", bytes(16), partitions=(partition(1, (1, 4), (1,)),)), {})
    known = ClusterTrouble((BrokerDescription(1, Address("here", 9092)),))
    assert lost_brokers([state], known) == ["broker 4 has replicas, and is not part of the cluster"]
    # Nobody told who is in it.
    assert lost_brokers([state], ClusterTrouble(())) == []
