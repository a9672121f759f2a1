"""SyncGroup and Heartbeat, one rule at a time."""

import pytest

from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from unit.coordinator.group.playbook import SESSION_MS, Playbook


def completing(play: Playbook, size: int = 2) -> list[str]:
    ids = [play.new_member()[0] for _ in range(size)]
    play.finish_join_phase()
    return ids


def test_followers_wait_until_the_leader_brings_the_assignment() -> None:
    play = Playbook()
    leader, follower = completing(play)
    waiting = play.sync(follower, 1)
    assert waiting not in play.answers
    leading = play.sync(leader, 1, {leader: b"L", follower: b"F"})
    assert (play.answers[leading].assignment, play.answers[waiting].assignment) == (b"L", b"F")
    assert (play.answers[waiting].protocol_type, play.answers[waiting].protocol_name) == ("consumer", "range")
    assert play.group().state is GroupState.STABLE


def test_a_follower_that_syncs_late_gets_its_assignment_at_once() -> None:
    play = Playbook()
    leader, follower = completing(play)
    play.sync(leader, 1, {follower: b"F"})
    assert play.answers[play.sync(follower, 1)].assignment == b"F"


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment() -> None:
    play = Playbook()
    leader, follower = completing(play)
    play.sync(leader, 1, {leader: b"L"})
    answer = play.answers[play.sync(follower, 1)]
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"")


def test_nobody_gets_an_assignment_before_it_is_committed() -> None:
    play = Playbook()
    leader, follower = completing(play)
    play.holds_commits = True
    tokens = [play.sync(follower, 1), play.sync(leader, 1, {leader: b"L"})]
    assert not play.answers.keys() & set(tokens)
    assert play.group().state is GroupState.COMPLETING_REBALANCE
    play.commit_all()
    assert play.answers.keys() >= set(tokens)
    assert play.group().state is GroupState.STABLE


def test_an_assignment_that_commits_after_the_next_rebalance_began_is_ignored() -> None:
    play = Playbook()
    leader, follower = completing(play)
    play.holds_commits = True
    leading = play.sync(leader, 1, {leader: b"L"})
    play.leave(follower)
    assert play.answers[leading].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    play.commit_all()
    assert play.group().state is GroupState.PREPARING_REBALANCE
    assert play.group().members[leader].assignment == b""


def test_an_assignment_of_the_last_generation_is_not_given_to_the_next() -> None:
    play = Playbook()
    (leader,) = completing(play, 1)
    play.holds_commits = True
    play.sync(leader, 1, {leader: b"first"})
    play.join(leader, protocols={"range": b"changed"})
    assert (play.group().state, play.group().generation_id) == (GroupState.COMPLETING_REBALANCE, 2)
    play.commit_all()
    assert play.group().state is GroupState.COMPLETING_REBALANCE


def test_an_assignment_that_the_log_refuses_is_told_and_rebalanced() -> None:
    play = Playbook()
    leader, follower = completing(play)
    waiting = play.sync(follower, 1)
    play.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    leading = play.sync(leader, 1, {leader: b"L"})
    for token in (waiting, leading):
        assert play.answers[token].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert play.group().state is GroupState.PREPARING_REBALANCE


def test_a_repeated_sync_takes_the_place_of_the_parked_one() -> None:
    play = Playbook()
    leader, follower = completing(play)
    first = play.sync(follower, 1)
    second = play.sync(follower, 1)
    assert play.answers[first].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    play.sync(leader, 1, {follower: b"F"})
    assert play.answers[second].assignment == b"F"


def test_sync_while_preparing_says_rejoin() -> None:
    play = Playbook()
    members = play.stable_group(2)
    play.join(members[0])
    assert play.answers[play.sync(members[1], 1)].error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("member", "generation", "error"),
    [
        ("nobody", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 0, ErrorCode.ILLEGAL_GENERATION),
        (None, 2, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_sync_checks_member_and_generation(member: str | None, generation: int, error: ErrorCode) -> None:
    play = Playbook()
    (known,) = completing(play, 1)
    assert play.answers[play.sync(member or known, generation)].error_code == error


def test_sync_of_an_unknown_or_empty_group_is_of_an_unknown_member() -> None:
    play = Playbook()
    assert play.answers[play.sync("m", 1)].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    play.commit({("t", 0): 1})
    assert play.answers[play.sync("m", 0)].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("protocol_type", "name"), [("connect", "range"), ("consumer", "sticky")])
def test_sync_with_another_protocol_is_inconsistent(protocol_type: str, name: str) -> None:
    play = Playbook()
    (member,) = completing(play, 1)
    token = play.sync(member, 1, protocol_type=protocol_type, protocol_name=name)
    assert play.answers[token].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_sync_without_a_protocol_is_that_of_an_older_client() -> None:
    play = Playbook()
    (member,) = completing(play, 1)
    token = play.sync(member, 1, {member: b"x"}, protocol_type=None, protocol_name=None)
    assert play.answers[token].assignment == b"x"


def test_heartbeats_tell_the_state_of_the_group() -> None:
    play = Playbook()
    leader, follower = completing(play)
    assert play.heartbeat(leader, 1) == ErrorCode.NONE
    play.sync_all([leader, follower])
    assert play.heartbeat(leader, 1) == ErrorCode.NONE
    play.join(leader)
    assert play.heartbeat(follower, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_heartbeats_check_group_member_and_generation() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    assert play.heartbeat(member, 1, group="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert play.heartbeat("nobody", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert play.heartbeat(member, 2) == ErrorCode.ILLEGAL_GENERATION


def test_a_heartbeat_gives_a_whole_new_session() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    for _ in range(5):
        play.advance(SESSION_MS - 1)
        assert play.heartbeat(member, 1) == ErrorCode.NONE
    play.advance(SESSION_MS)
    assert play.heartbeat(member, 1) == ErrorCode.UNKNOWN_MEMBER_ID
