"""Rebuilds a group from its last GroupMetadata record."""

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.member import Member
from ottla.coordinator.group.states import GroupState
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue


def group_from_record(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group as the record describes it: Stable if it had members when the record was written, else Empty.

    A record keeps each member's metadata for the chosen protocol only, so that is all that members support until they
    join again. Records before version 1 have no rebalance timeout; the session timeout stands in, as it did then.
    """
    group = ClassicGroup(
        group_id,
        state=GroupState.STABLE if value.members else GroupState.EMPTY,
        state_timestamp_ms=value.current_state_timestamp,
    )
    group.generation_id = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    for stored in value.members:
        group.add(
            Member(
                member_id=stored.member_id,
                group_instance_id=stored.group_instance_id,
                client_id=stored.client_id,
                client_host=stored.client_host,
                rebalance_timeout_ms=(
                    stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout
                ),
                session_timeout_ms=stored.session_timeout,
                protocol_type=value.protocol_type,
                protocols=((value.protocol or "", stored.subscription),),
                assignment=stored.assignment,
            )
        )
    group.leader_id = value.leader if value.leader in group.members else next(iter(group.members), None)
    group.refresh_subscribed_topics()
    return group
