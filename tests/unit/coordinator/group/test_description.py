from ottla.coordinator.group.description import (
    describe_group,
    describe_missing_group,
    list_group,
    matches_filters,
)
from ottla.protocol.errors import ErrorCode
from unit.coordinator.group.playbook import Playbook, subscription


def test_a_stable_group_shows_protocol_metadata_and_assignments() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    group = describe_group(play.group())
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (row,) = group.members
    assert (row.member_id, row.client_id, row.client_host) == (member, "client", "/127.0.0.1")
    assert (row.member_metadata, row.member_assignment) == (subscription("t"), b"part 0")


def test_a_rebalancing_group_shows_members_with_their_last_assignment_and_no_protocol() -> None:
    play = Playbook()
    leader, _follower = play.stable_group(2)
    play.join(leader)
    group = describe_group(play.group())
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [(m.member_metadata, m.member_assignment) for m in group.members] == [(b"", b"part 0"), (b"", b"part 1")]


def test_a_missing_group_is_dead_or_an_error() -> None:
    old = describe_missing_group("x", is_error=False)
    assert (old.group_state, old.error_code, old.error_message) == ("Dead", ErrorCode.NONE, None)
    new = describe_missing_group("x", is_error=True)
    assert (new.group_state, new.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert new.error_message == "Group x not found."


def test_groups_are_listed_with_state_and_type_and_filtered_by_both() -> None:
    play = Playbook()
    play.commit({("t", 0): 1})
    row = list_group(play.group())
    assert (row.group_id, row.protocol_type, row.group_state, row.group_type) == ("g", "", "Empty", "classic")
    assert matches_filters(play.group(), (), ())
    assert matches_filters(play.group(), ("empty", "stable"), ("classic",))
    assert not matches_filters(play.group(), ("stable",), ())
    assert not matches_filters(play.group(), (), ("consumer",))
