"""OffsetCommit, one rule at a time."""

import pytest

from ottla.coordinator.group.records import NO_TIMESTAMP
from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.group.playbook import SESSION_MS, Playbook


def refusal(play: Playbook, **arguments: object) -> ErrorCode:
    with pytest.raises(ApiError) as raised:
        play.commit({("t", 0): 1}, **arguments)  # type: ignore[arg-type]
    return raised.value.code


def committed(play: Playbook, topic: str = "t", partition: int = 0) -> int | None:
    offset = play.shard.offsets.committed("g").get(topic, {}).get(partition)
    return None if offset is None else offset.offset


def test_a_simple_consumer_commits_without_membership_and_creates_its_group() -> None:
    play = Playbook()
    play.commit({("t", 0): 5})
    assert committed(play) == 5
    assert (play.group().state, play.group().protocol_type) == (GroupState.EMPTY, None)


def test_a_generation_without_a_group_is_refused_in_the_words_of_the_version() -> None:
    play = Playbook()
    assert refusal(play, generation=3, member_id="m", version=9) == ErrorCode.GROUP_ID_NOT_FOUND
    assert refusal(play, generation=3, member_id="m", version=8) == ErrorCode.ILLEGAL_GENERATION


def test_a_member_commits_in_its_generation() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    play.commit({("t", 0): 7}, member_id=member, generation=1)
    assert committed(play) == 7


def test_outsiders_cannot_commit_for_a_group_with_members() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    assert refusal(play) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(play, generation=1, member_id="nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(play, generation=0, member_id=member) == ErrorCode.ILLEGAL_GENERATION
    assert refusal(play, member_id=member) == ErrorCode.ILLEGAL_GENERATION


def test_a_fenced_static_member_cannot_commit() -> None:
    play = Playbook()
    token = play.join(instance="a")
    play.finish_join_phase()
    old = play.answers[token].member_id
    play.sync_all([old])
    play.join(instance="a")
    assert refusal(play, generation=1, member_id=old, instance="a") == ErrorCode.FENCED_INSTANCE_ID


def test_commits_wait_while_the_assignment_is_made_but_not_while_members_rejoin() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    play.join(leader)
    play.commit({("t", 0): 3}, member_id=follower, generation=1)
    play.join(follower)
    assert play.group().state is GroupState.COMPLETING_REBALANCE
    assert refusal(play, member_id=follower, generation=2) == ErrorCode.REBALANCE_IN_PROGRESS


def test_anybody_may_commit_for_a_group_that_is_empty_again() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    play.leave(member)
    play.commit({("t", 0): 11})
    assert committed(play) == 11


def test_a_commit_keeps_the_session_alive() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    for _ in range(3):
        play.advance(SESSION_MS - 1)
        play.commit({("t", 0): 1}, member_id=member, generation=1)
    assert member in play.group().members


def test_metadata_that_is_too_long_fails_its_partition_only() -> None:
    play = Playbook(offset_metadata_max_bytes=4)
    response = play.commit({("t", 0): 1}, metadata="12345")
    assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert committed(play) is None
    response = play.commit({("t", 0): 1}, metadata="1234")
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE


def test_metadata_epoch_time_and_topic_id_are_kept() -> None:
    play = Playbook()
    play.commit({("t", 0): 1}, metadata="hello", topic_id=b"i" * 16)
    stored = play.reloaded().offsets.committed("g")["t"][0]
    assert (stored.metadata, stored.leader_epoch, stored.topic_id) == ("hello", -1, b"i" * 16)
    assert (stored.commit_timestamp_ms, stored.expire_timestamp_ms) == (play.now_ms, NO_TIMESTAMP)
    play.commit({("t", 0): 1}, metadata=None)
    assert play.reloaded().offsets.committed("g")["t"][0].metadata == ""


def test_an_offset_is_visible_once_it_is_committed_to_the_log() -> None:
    play = Playbook()
    play.holds_commits = True
    play.commit({("t", 0): 1})
    play.commit({("t", 0): 2})
    assert committed(play) is None
    assert dict(play.shard.offsets.latest("g"))["t", 0].offset == 2
    play.shard.committed(0, play.now_ms)
    assert committed(play) == 1
    play.commit_all()
    assert committed(play) == 2
    assert not play.shard.offsets._in_flight
