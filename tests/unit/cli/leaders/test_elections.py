from ottla.cli.leaders.elections import preferred_candidacy, unclean_candidacy
from ottla.client.admin.topics import PartitionDescription


def partition(leader: int, in_sync: tuple[int, ...], eligible: tuple[int, ...] | None = None) -> PartitionDescription:
    return PartitionDescription(0, leader, 0, replicas=(1, 2, 3), in_sync=in_sync, eligible_leaders=eligible)


def test_the_first_replica_is_preferred_and_can_lead_if_it_is_in_sync() -> None:
    led = preferred_candidacy("t", partition(1, (1, 2)))
    assert (led.is_needed, led.new_leader) == (False, 1)
    moved = preferred_candidacy("t", partition(2, (2, 1)))
    assert (moved.is_needed, moved.leader, moved.new_leader) == (True, 2, 1)
    behind = preferred_candidacy("t", partition(2, (2,)))
    assert (behind.is_needed, behind.new_leader) == (True, None)


def test_an_unclean_leader_is_one_that_lives_and_best_one_that_lacks_nothing() -> None:
    assert not unclean_candidacy("t", partition(2, (2,)), {2, 3}).is_needed
    lost = unclean_candidacy("t", partition(-1, ()), {2, 3})
    assert (lost.is_needed, lost.leader, lost.new_leader) == (True, None, 2)
    assert unclean_candidacy("t", partition(-1, (), eligible=(3,)), {2, 3}).new_leader == 3
    assert unclean_candidacy("t", partition(-1, (1,)), set()).new_leader is None


def test_a_row_tells_what_was_and_what_is() -> None:
    assert preferred_candidacy("t", partition(2, (2, 1))).row(1, is_done=True) == {
        "topic": "t",
        "partition": 0,
        "replicas": [1, 2, 3],
        "in_sync": [2, 1],
        "leader": 2,
        "new_leader": 1,
        "done": True,
    }
