"""TxnOffsetCommit, one rule at a time."""

import pytest

from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from unit.coordinator.group.playbook import SESSION_MS, Playbook

PRODUCER = 7


def refusal(play: Playbook, **arguments: object) -> ErrorCode:
    with pytest.raises(ApiError) as raised:
        play.commit_in_transaction(PRODUCER, {("t", 0): 1}, **arguments)  # type: ignore[arg-type]
    return raised.value.code


def accepts(play: Playbook, **arguments: object) -> bool:
    response = play.commit_in_transaction(PRODUCER, {("t", 0): 1}, **arguments)  # type: ignore[arg-type]
    return [p.error_code for topic in response.topics for p in topic.partitions] == [ErrorCode.NONE]


def committed(play: Playbook) -> dict[int, int]:
    return {partition: offset.offset for partition, offset in play.shard.offsets.committed("g").get("t", {}).items()}


def test_an_unknown_group_becomes_a_simple_one_whose_offset_waits_for_the_marker() -> None:
    play = Playbook()
    assert accepts(play)
    assert (play.group().state, play.group().protocol_type) == (GroupState.EMPTY, None)
    assert committed(play) == {}
    play.end_transaction(PRODUCER)
    assert committed(play) == {0: 1}


def test_an_unknown_group_has_no_generation() -> None:
    play = Playbook()
    assert refusal(play, generation=3, member_id="m") == ErrorCode.ILLEGAL_GENERATION
    assert "g" not in play.shard.groups


def test_an_empty_group_takes_whoever_names_no_generation() -> None:
    play = Playbook()
    play.commit({("t", 0): 1})
    assert accepts(play, member_id="m")
    assert refusal(play, member_id="m", generation=0) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "state", [GroupState.COMPLETING_REBALANCE, GroupState.STABLE, GroupState.PREPARING_REBALANCE], ids=str
)
def test_a_group_with_members_takes_its_own_and_those_that_name_nobody(state: GroupState) -> None:
    play = Playbook()
    member, _ = play.new_member()
    play.finish_join_phase()
    if state is not GroupState.COMPLETING_REBALANCE:
        play.sync_all([member])
    if state is GroupState.PREPARING_REBALANCE:
        play.new_member()
    assert play.group().state is state

    assert accepts(play, member_id=member, generation=1)
    assert accepts(play), "clients before version 3 know neither members nor generations"
    assert refusal(play, member_id=member, generation=0) == ErrorCode.ILLEGAL_GENERATION
    assert refusal(play, member_id=member, generation=2) == ErrorCode.ILLEGAL_GENERATION
    assert refusal(play, member_id=member) == ErrorCode.ILLEGAL_GENERATION
    assert refusal(play, member_id="stranger", generation=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(play, generation=1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(play, member_id=member, generation=1, instance="i") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_was_replaced_is_fenced() -> None:
    play = Playbook()
    old = play.join(instance="i")
    play.finish_join_phase()
    old_id = play.answers[old].member_id
    play.sync_all([old_id])
    new = play.join(instance="i")
    new_id = play.answers[new].member_id
    assert refusal(play, member_id=old_id, generation=1, instance="i") == ErrorCode.FENCED_INSTANCE_ID
    assert accepts(play, member_id=new_id, generation=1, instance="i")


def test_a_transaction_does_not_keep_a_member_alive() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    play.advance(SESSION_MS - 1)
    assert accepts(play, member_id=member, generation=1)
    play.advance(1)
    assert not play.group().members


def test_metadata_that_is_too_large_costs_its_own_partition_only() -> None:
    play = Playbook(offset_metadata_max_bytes=3)
    response = play.commit_in_transaction(PRODUCER, {("t", 0): 1}, metadata="four")
    assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    play.commit_in_transaction(PRODUCER, {("t", 1): 2}, metadata="abc")
    play.end_transaction(PRODUCER)
    assert committed(play) == {1: 2}


def test_what_was_refused_after_all_leaves_nothing_pending() -> None:
    play = Playbook()
    play.holds_commits = True
    play.commit({("t", 0): 1})
    play.commit_in_transaction(PRODUCER, {("t", 0): 2})
    refused_at = len(play.log) - 1
    play.commit({("t", 1): 3})
    assert play.shard.offsets.is_pending("g", "t", 0)
    play.shard.refused(refused_at)
    play.commit_all()
    assert committed(play) == {0: 1, 1: 3}
    assert not play.shard.offsets.pending("g")
    asked = OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])
    rows = play.shard.fetch_offsets("g", [asked], require_stable=True)[0].partitions
    assert [row.error_code for row in rows] == [ErrorCode.NONE, ErrorCode.NONE]
