from ottla.cli.cluster.quorum_report import follower_lag, replicas_of
from ottla.client.admin.brokers import QuorumDescription, QuorumReplica

ID = bytes(16)
LEADER = QuorumReplica(2, ID, 100, 5_000, 5_000)
SLOW = QuorumReplica(1, ID, 90, 4_900, 4_000)
OBSERVER = QuorumReplica(7, ID, 99, 4_990, 4_990)


def quorum(*voters: QuorumReplica) -> QuorumDescription:
    return QuorumDescription(2, 3, 100, voters, (OBSERVER,))


def test_the_leader_comes_first_then_followers_then_observers() -> None:
    rows = [(row.replica.replica_id, row.status, row.lag) for row in replicas_of(quorum(SLOW, LEADER))]
    assert rows == [(2, "Leader", 0), (1, "Follower", 10), (7, "Observer", 1)]


def test_the_slowest_voter_is_how_far_the_quorum_is_behind() -> None:
    assert follower_lag(quorum(SLOW, LEADER)) == (10, 1_000)
    assert follower_lag(quorum(LEADER)) == (0, 0)


def test_times_that_nobody_knows_are_not_invented() -> None:
    assert follower_lag(quorum(LEADER, QuorumReplica(1, ID, 90))) == (10, -1)
    assert follower_lag(quorum(SLOW)) == (0, -1)
