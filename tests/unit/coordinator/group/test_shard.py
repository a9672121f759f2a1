"""A shard's life: loading, serving, unloading."""

from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import CommittedOffset, GroupRecord, OffsetRecord
from ottla.coordinator.group.shard import GroupShard
from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from unit.coordinator.group.playbook import SESSION_MS, START_MS, Playbook


def test_a_reloaded_group_goes_on_in_its_generation() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    play.commit({("t", 0): 9}, member_id=leader, generation=1)
    play.shard = play.reloaded()
    play.shard.loaded(play.now_ms)
    assert play.group().state is GroupState.STABLE
    assert play.heartbeat(follower, 1) == ErrorCode.NONE
    assert play.answers[play.sync(follower, 1)].assignment == b"part 1"
    assert play.shard.offsets.committed("g")["t"][0].offset == 9


def test_members_of_a_reloaded_group_have_one_session_to_report_back() -> None:
    play = Playbook()
    present, _absent = play.stable_group(2)
    play.shard = play.reloaded()
    play.now_ms += 10 * SESSION_MS
    play.shard.loaded(play.now_ms)
    play.advance(SESSION_MS - 1)
    assert play.heartbeat(present, 1) == ErrorCode.NONE
    play.advance(1)
    assert list(play.group().members) == [present]


def test_a_reloaded_group_above_the_limit_rebalances() -> None:
    play = Playbook()
    members = play.stable_group(3)
    log = play.log
    play = Playbook(group_max_size=2)
    play.log = log
    play.shard = play.reloaded()
    play.shard.loaded(play.now_ms)
    assert play.group().state is GroupState.PREPARING_REBALANCE
    tokens = [play.join(member) for member in members]
    play.finish_join_phase()
    errors = sorted(play.answers[token].error_code for token in tokens)
    assert errors == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_the_oldest_group_records_have_no_rebalance_timeout_and_use_the_session_timeout() -> None:
    shard = GroupShard(GroupConfig())
    member = MemberMetadata(member_id="m", session_timeout=777)
    shard.replay(GroupRecord("g", GroupMetadataValue(protocol_type="p", protocol="x", leader="m", members=[member])))
    assert shard.groups["g"].rebalance_timeout_ms == 777


def test_a_group_record_without_its_leader_still_has_one() -> None:
    shard = GroupShard(GroupConfig())
    members = [MemberMetadata(member_id="m"), MemberMetadata(member_id="n")]
    value = GroupMetadataValue(protocol_type="p", protocol="x", leader="gone", members=members)
    shard.replay(GroupRecord("g", value))
    shard.groups["g"].assert_invariants()
    assert shard.groups["g"].leader_id == "m"


def test_unloading_sends_parked_members_to_the_new_coordinator() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    joining = play.join(leader)
    play.shard.unload()
    play.settle()
    assert play.answers[joining].error_code == ErrorCode.NOT_COORDINATOR
    play = Playbook()
    leader, follower = [play.new_member()[0] for _ in range(2)]
    play.finish_join_phase()
    syncing = play.sync(follower, 1)
    play.shard.unload()
    play.settle()
    assert play.answers[syncing].error_code == ErrorCode.NOT_COORDINATOR


def test_deadlines_of_a_group_that_is_gone_are_ignored() -> None:
    play = Playbook()
    play.shard.timers.arm(("session", "gone", "m"), START_MS)
    play.advance(0)
    assert len(play.shard.timers) == 0


def test_a_group_that_came_with_offsets_goes_when_the_log_refuses_them() -> None:
    shard = GroupShard(GroupConfig())
    offset = CommittedOffset(5, -1, "", 0)
    shard.replay(OffsetRecord("known", "t", 0, offset))
    for number, group in enumerate(("known", "new", "new")):
        shard.appended([OffsetRecord(group, "t", number, offset)], None, number, START_MS)
    shard.refused(0)
    shard.refused(1)
    assert set(shard.groups) == {"known", "new"}, "each has another offset"
    shard.refused(2)
    assert set(shard.groups) == {"known"}
    assert dict(shard.offsets.latest("known")) == {("t", 0): offset}
    assert not shard.offsets.has_any("new")
