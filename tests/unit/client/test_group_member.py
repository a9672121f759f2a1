"""A member of a classic group, told what its coordinator answers."""

import pytest

from ottla.client.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from ottla.client.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.client.group_member import GroupMember, GroupSettings, State
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from ottla.protocol.messages.sync_group_response import SyncGroupResponse
from ottla.protocol.topic_partition import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def member(assignor: Assignor = RANGE, instance_id: str | None = None) -> GroupMember:
    made = GroupMember(GroupSettings("g", instance_id=instance_id, assignors=(assignor,)))
    made.topics = ("t",)
    return made


def accepted(
    name: str = "m1", generation: int = 1, *, leader: str = "m2", protocol: str = "range"
) -> JoinGroupResponse:
    return JoinGroupResponse(generation_id=generation, protocol_name=protocol, leader=leader, member_id=name)


def stable(made: GroupMember, *partitions: TopicPartition, generation: int = 1) -> None:
    made.join_request()
    made.joined(accepted(generation=generation, protocol=made.settings.assignors[0].name))
    found = made.synced(SyncGroupResponse(assignment=encode_assignment(partitions)))
    assert found is not None
    made.assigned(found)


def test_the_first_join_has_no_name_and_offers_the_assignors() -> None:
    request = member().join_request()
    assert (request.group_id, request.member_id, request.protocol_type) == ("g", "", "consumer")
    assert [protocol.name for protocol in request.protocols] == ["range"]
    assert decode_subscription(request.protocols[0].metadata).topics == ("t",)


def test_a_member_joins_again_under_the_name_it_is_given() -> None:
    made = member()
    made.join_request()
    made.joined(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m1"))
    assert made.state is State.UNJOINED
    assert made.join_request().member_id == "m1"


def test_a_follower_syncs_with_nothing_and_gets_its_share() -> None:
    made = member()
    made.join_request()
    made.joined(accepted())
    assert made.state is State.SYNCING
    assert not made.is_leader
    assert list(made.sync_request({}).assignments) == []
    assert made.synced(SyncGroupResponse(assignment=encode_assignment([T0, T1]))) == {T0, T1}
    assert made.state is State.STABLE


def test_the_leader_divides_the_partitions_of_all() -> None:
    made = member()
    made.join_request()
    response = accepted(leader="m1")
    response.members = [
        JoinGroupResponseMember(member_id=name, metadata=encode_subscription(Subscription(("t",))))
        for name in ("m1", "m2")
    ]
    made.joined(response)
    assert made.is_leader
    assert made.subscribed_topics() == {"t"}
    shares = {row.member_id: decode_assignment(row.assignment) for row in made.sync_request({"t": 3}).assignments}
    assert shares == {"m1": (T0, T1), "m2": (T2,)}


def test_a_returning_static_leader_leaves_the_assignment_as_it_is() -> None:
    made = member(instance_id="i1")
    made.join_request()
    response = accepted(leader="m1")
    response.skip_assignment = True
    made.joined(response)
    assert list(made.sync_request({"t": 3}).assignments) == []


def test_an_eager_member_tells_of_nothing_it_holds_after_giving_it_back() -> None:
    made = member()
    stable(made, T0)
    assert not made.is_cooperative
    made.gave_back()
    assert decode_subscription(made.join_request().protocols[0].metadata).owned == ()


def test_a_cooperative_member_joins_with_what_it_holds() -> None:
    made = member(COOPERATIVE_STICKY)
    stable(made, T0, T1, generation=4)
    made.refused(ErrorCode.REBALANCE_IN_PROGRESS)
    told = decode_subscription(made.join_request().protocols[0].metadata)
    assert (told.owned, told.generation) == ((T0, T1), 4)


def test_a_cooperative_member_that_gave_something_back_joins_once_more() -> None:
    made = member(COOPERATIVE_STICKY)
    stable(made, T0, T1)
    assert made.state is State.STABLE
    stable(made, T0, generation=2)
    assert made.state is State.UNJOINED
    stable(made, T0, generation=3)
    assert made.state is State.STABLE


def test_mixed_assignors_rebalance_eagerly() -> None:
    assert not GroupMember(GroupSettings("g", assignors=(RANGE, COOPERATIVE_STICKY))).is_cooperative


def test_a_member_that_the_coordinator_forgot_has_lost_everything_and_its_name() -> None:
    made = member()
    stable(made, T0)
    made.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    assert (made.state, made.has_lost_everything) == (State.UNJOINED, True)
    assert (made.membership.generation, made.membership.member_id) == (-1, "")


def test_a_member_of_an_old_generation_has_lost_everything_but_its_name() -> None:
    made = member()
    stable(made, T0)
    made.refused(ErrorCode.ILLEGAL_GENERATION)
    assert made.has_lost_everything
    assert made.join_request().member_id == "m1"


@pytest.mark.parametrize(
    ("code", "is_gone"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, False),
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True),
    ],
)
def test_after_these_a_member_joins_again_and_keeps_what_it_holds(code: ErrorCode, is_gone: bool) -> None:
    made = member()
    stable(made, T0)
    made.refused(code)
    assert (made.state, made.has_lost_everything) == (State.UNJOINED, False)
    assert made.is_coordinator_gone is is_gone


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
    ],
)
def test_these_are_final(code: ErrorCode) -> None:
    made = member()
    made.join_request()
    made.joined(JoinGroupResponse(error_code=code))
    assert made.state is State.FAILED
    assert made.error is not None
    assert made.error.code is code
    made.rejoin()
    assert made.state is State.FAILED


def test_a_sync_that_is_refused_leads_to_another_join() -> None:
    made = member()
    made.join_request()
    made.joined(accepted())
    assert made.synced(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)) is None
    assert made.state is State.UNJOINED


def test_an_assignor_that_nobody_offered_is_refused() -> None:
    made = member()
    made.join_request()
    made.joined(accepted(protocol="lottery"))
    assert made.state is State.FAILED
    assert "lottery" in str(made.error)


def test_a_dynamic_member_says_goodbye_and_a_static_one_keeps_its_place() -> None:
    dynamic, static = member(), member(instance_id="i1")
    assert dynamic.leave_request("bye") is None
    stable(dynamic, T0)
    stable(static, T0)
    request = dynamic.leave_request("bye")
    assert request is not None
    assert [(row.member_id, row.reason) for row in request.members] == [("m1", "bye")]
    assert static.leave_request("bye") is None


@pytest.mark.parametrize("settings", [{"group_id": ""}, {"group_id": "g", "assignors": ()}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="needs"):
        GroupSettings(**settings)  # type: ignore[arg-type]
