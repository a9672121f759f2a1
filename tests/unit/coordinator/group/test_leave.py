"""LeaveGroup, one rule at a time."""

from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.leave_group_request import MemberIdentity
from unit.coordinator.group.playbook import Playbook


def codes(rows: list) -> list[int]:
    return [row.error_code for row in rows]


def test_the_others_rebalance_when_a_member_leaves() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    assert codes(play.leave(leader)) == [ErrorCode.NONE]
    answer = play.answers[play.join(follower)]
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_a_group_whose_last_member_leaves_is_empty_in_a_new_generation() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    play.leave(member)
    assert (play.group().state, play.group().generation_id) == (GroupState.EMPTY, 2)
    assert play.group().protocol_type == "consumer"
    loaded = play.reloaded().groups["g"]
    assert (loaded.state, loaded.generation_id, loaded.protocol_name) == (GroupState.EMPTY, 2, None)


def test_several_members_leave_in_one_request_and_each_gets_a_row() -> None:
    play = Playbook()
    first, second, third = play.stable_group(3)
    rows = play.leave(first, "nobody", second)
    assert codes(rows) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert list(play.group().members) == [third]


def test_a_static_member_can_be_removed_by_its_instance_id_alone() -> None:
    play = Playbook()
    play.join(instance="a")
    play.finish_join_phase()
    assert codes(play.leave(instances=["a", "b"])) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert not play.group().members


def test_a_stale_member_id_cannot_remove_a_static_member() -> None:
    play = Playbook()
    play.join(instance="a")
    play.finish_join_phase()
    identity = MemberIdentity(member_id="a-stale", group_instance_id="a")
    assert codes(play.shard.leave("g", [identity], play.now_ms)) == [ErrorCode.FENCED_INSTANCE_ID]


def test_a_pending_member_may_leave() -> None:
    play = Playbook()
    pending = play.answers[play.join()].member_id
    assert codes(play.leave(pending)) == [ErrorCode.NONE]
    assert not play.group().pending_members


def test_a_pending_member_that_leaves_no_longer_holds_up_the_join_phase() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    pending = play.answers[play.join()].member_id
    token = play.join(member)
    assert token not in play.answers
    play.leave(pending)
    assert play.answers[token].generation_id == 2


def test_a_leaving_member_is_answered_what_it_still_waits_for() -> None:
    play = Playbook()
    member, joining = play.new_member()
    play.leave(member)
    assert play.answers[joining].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    play = Playbook()
    ids = [play.new_member()[0] for _ in range(2)]
    play.finish_join_phase()
    waiting = play.sync(ids[1], 1)
    play.leave(ids[1])
    assert play.answers[waiting].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_group_knows_nobody() -> None:
    play = Playbook()
    assert codes(play.leave("m", group="nowhere")) == [ErrorCode.UNKNOWN_MEMBER_ID]
