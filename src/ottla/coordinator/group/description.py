"""DescribeGroups and ListGroups: what others are told about a group."""

from collections.abc import Collection

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from ottla.protocol.messages.list_groups_response import ListedGroup

CLASSIC_GROUP_TYPE = "classic"


def describe_group(group: ClassicGroup) -> DescribedGroup:
    """The group with its members. Protocol and metadata are shown only while it is Stable, since only then are they
    settled; an assignment is the last one that the member was given."""
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def describe_missing_group(group_id: str, *, is_error: bool) -> DescribedGroup:
    """A group that does not exist: from DescribeGroups v6 on an error, before that a group that is Dead."""
    return DescribedGroup(
        group_id=group_id,
        group_state=GroupState.DEAD.value,
        error_code=ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE,
        error_message=f"Group {group_id} not found." if is_error else None,
    )


def list_group(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=CLASSIC_GROUP_TYPE,
    )


def matches_filters(group: ClassicGroup, states: Collection[str], types: Collection[str]) -> bool:
    """Whether ListGroups asks for the group; filters are in lower case, and an empty one lets everything through."""
    return (not states or group.state.value.lower() in states) and (not types or CLASSIC_GROUP_TYPE in types)
