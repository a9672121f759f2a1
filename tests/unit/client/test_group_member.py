"""A member of a classic group, told what its coordinator answers."""

import pytest

from ottla.client.group_member import GroupMember, MemberSettings, Offer, State
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

OFFERS = [Offer("best", b"about me"), Offer("second", b"about me")]


def member(instance_id: str | None = None) -> GroupMember:
    return GroupMember(MemberSettings("g", "tea party", instance_id=instance_id))


def accepted(name: str = "m1", generation: int = 1, *, leader: str = "m2", protocol: str = "best") -> JoinGroupResponse:
    return JoinGroupResponse(generation_id=generation, protocol_name=protocol, leader=leader, member_id=name)


def stable(made: GroupMember, generation: int = 1) -> None:
    made.join_request(OFFERS)
    made.joined(accepted(generation=generation))
    assert made.synced(SyncGroupResponse(assignment=b"part")) == b"part"
    made.holds_something = True


def test_the_first_join_has_no_name_and_makes_the_offers() -> None:
    request = member().join_request(OFFERS)
    assert (request.group_id, request.member_id, request.protocol_type) == ("g", "", "tea party")
    assert [(one.name, one.metadata) for one in request.protocols] == [("best", b"about me"), ("second", b"about me")]


def test_a_member_joins_again_under_the_name_it_is_given() -> None:
    made = member()
    made.join_request(OFFERS)
    made.joined(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m1"))
    assert made.state is State.UNJOINED
    assert made.join_request(OFFERS).member_id == "m1"


def test_a_follower_syncs_with_nothing_and_gets_its_part() -> None:
    made = member()
    made.join_request(OFFERS)
    made.joined(accepted(protocol="second"))
    assert (made.state, made.protocol, made.is_leader) == (State.SYNCING, "second", False)
    request = made.sync_request({})
    assert (list(request.assignments), request.protocol_name) == ([], "second")
    assert made.synced(SyncGroupResponse(assignment=b"part")) == b"part"
    assert made.state is State.STABLE


def test_the_leader_hears_what_all_told_and_sends_their_parts() -> None:
    made = member()
    made.join_request(OFFERS)
    response = accepted(leader="m1")
    response.members = [JoinGroupResponseMember(member_id=name, metadata=name.encode()) for name in ("m1", "m2")]
    made.joined(response)
    assert made.is_leader
    assert made.members == {"m1": b"m1", "m2": b"m2"}
    sent = made.sync_request({"m1": b"one", "m2": b"two"}).assignments
    assert [(row.member_id, row.assignment) for row in sent] == [("m1", b"one"), ("m2", b"two")]


def test_a_returning_static_leader_leaves_the_assignment_as_it_is() -> None:
    made = member(instance_id="i1")
    made.join_request(OFFERS)
    response = accepted(leader="m1")
    response.skip_assignment = True
    made.joined(response)
    assert not made.is_leader


def test_a_member_that_the_coordinator_forgot_has_lost_everything_and_its_name() -> None:
    made = member()
    stable(made)
    made.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    assert (made.state, made.has_lost_everything) == (State.UNJOINED, True)
    assert (made.membership.generation, made.membership.member_id) == (-1, "")
    made.gave_back()
    assert not made.has_lost_everything


def test_a_member_that_holds_nothing_has_nothing_to_lose() -> None:
    made = member()
    stable(made)
    made.gave_back()
    made.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    assert not made.has_lost_everything


def test_a_member_of_an_old_generation_has_lost_everything_but_its_name() -> None:
    made = member()
    stable(made)
    made.refused(ErrorCode.ILLEGAL_GENERATION)
    assert made.has_lost_everything
    assert made.join_request(OFFERS).member_id == "m1"


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
    stable(made)
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
    made.join_request(OFFERS)
    made.joined(JoinGroupResponse(error_code=code))
    assert made.state is State.FAILED
    assert made.error is not None
    assert made.error.code is code
    made.rejoin()
    assert made.state is State.FAILED


def test_a_sync_that_is_refused_leads_to_another_join() -> None:
    made = member()
    made.join_request(OFFERS)
    made.joined(accepted())
    assert made.synced(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)) is None
    assert made.state is State.UNJOINED


def test_a_protocol_that_nobody_offered_is_refused() -> None:
    made = member()
    made.join_request(OFFERS)
    made.joined(accepted(protocol="lottery"))
    assert made.state is State.FAILED
    assert "lottery" in str(made.error)


def test_a_dynamic_member_says_goodbye_and_a_static_one_keeps_its_place() -> None:
    dynamic, static = member(), member(instance_id="i1")
    assert dynamic.leave_request("bye") is None
    stable(dynamic)
    stable(static)
    request = dynamic.leave_request("bye")
    assert request is not None
    assert [(row.member_id, row.reason) for row in request.members] == [("m1", "bye")]
    assert static.leave_request("bye") is None


def test_a_group_has_a_name() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        MemberSettings("", "tea party")
