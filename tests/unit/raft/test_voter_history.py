"""The voters by log offset."""

from ottla.raft import KRaftVersionContent, LeaderChangeContent, Membership, VoterHistory, VotersContent
from unit.raft.replicas import key, voters


def history() -> VoterHistory:
    """Version and voters from offset 1 on, another voter from offset 10 on."""
    found = VoterHistory(voters(1))
    assert found.append(0, (LeaderChangeContent(1, (key(1),), ()), KRaftVersionContent(1), VotersContent(voters(1, 2))))
    assert found.append(10, (VotersContent(voters(1, 2, 3)),))
    return found


def test_the_newest_record_counts() -> None:
    assert history().newest == Membership(voters(1, 2, 3), 1)


def test_a_record_that_says_what_holds_already_changes_nothing() -> None:
    assert not history().append(20, (VotersContent(voters(1, 2, 3)),))
    assert not history().append(20, (LeaderChangeContent(1, (key(1),), ()),))


def test_a_snapshot_tells_what_held_where_it_ends() -> None:
    assert history().at(0) == Membership(voters(1), 0)
    assert history().at(2) == Membership(voters(1), 1)
    assert history().at(10) == Membership(voters(1, 2), 1)
    assert history().at(11) == Membership(voters(1, 2, 3), 1)


def test_truncation_returns_to_the_voters_before() -> None:
    found = history()
    assert not found.truncate_to(11)
    assert found.truncate_to(10)
    assert found.newest == Membership(voters(1, 2), 1)
    assert found.truncate_to(0)
    assert found.newest == Membership(voters(1), 0)


def test_what_a_snapshot_covers_is_not_truncated_any_more() -> None:
    found = history()
    found.drop_before(10)
    assert found.truncate_to(0)
    assert found.newest == Membership(voters(1, 2), 1)
    assert found.at(0) == Membership(voters(1, 2), 1)
