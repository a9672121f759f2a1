"""Groups: list, describe, delete, their members, and the offsets they committed."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ottla.client import group_offsets
from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.consumer_protocol import decode_assignment, decode_subscription
from ottla.client.errors import KafkaError, error_of, raise_for
from ottla.client.group_offsets import CommittedOffset
from ottla.client.metadata import Node
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import consumer_group_describe_response as modern
from ottla.protocol.messages import describe_groups_response as classic
from ottla.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from ottla.protocol.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from ottla.protocol.messages.delete_groups_request import DeleteGroupsRequest
from ottla.protocol.messages.delete_groups_response import DeleteGroupsResponse
from ottla.protocol.messages.describe_groups_request import DescribeGroupsRequest
from ottla.protocol.messages.describe_groups_response import DescribeGroupsResponse
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.leave_group_response import LeaveGroupResponse
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_groups_response import ListGroupsResponse
from ottla.protocol.topic_partition import TopicPartition

_CONSUMER_PROTOCOL = "consumer"


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group as its coordinator lists it; state and type are empty if the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str = ""
    type: str = ""
    coordinator_id: int = -1


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member of a group and what it holds; the target is where a rebalance is leading it."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...] = ()
    subscription: tuple[str, ...] = ()
    target_assignment: tuple[TopicPartition, ...] | None = None
    member_epoch: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group and its members; `type` is "classic" or "consumer"."""

    group_id: str
    state: str = ""
    type: str = ""
    protocol_type: str = ""
    assignor: str = ""
    coordinator: Node | None = None
    members: tuple[MemberDescription, ...] = ()
    group_epoch: int = -1
    target_assignment_epoch: int = -1
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class RemovedMember:
    """A member that was removed, by its instance id or by its member id."""

    member_id: str = ""
    instance_id: str | None = None
    error: KafkaError | None = None


class GroupCalls(AdminCalls):
    """The calls about groups."""

    async def list_groups(self, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> tuple[GroupListing, ...]:
        """All groups of all coordinators, or those in certain states or of certain types."""
        wanted_states, wanted_types = list(states), list(types)

        async def list_at(node_id: int) -> list[GroupListing]:
            async def ask(connection: Connection) -> list[GroupListing]:
                lowest = 5 if wanted_types else 4 if wanted_states else 0
                version = connection.version_of(ListGroupsRequest, lowest=lowest)
                request = ListGroupsRequest(states_filter=wanted_states, types_filter=wanted_types)
                response = await connection.request(request, ListGroupsResponse, version=version)
                raise_for(response.error_code)
                return [
                    GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type, node_id)
                    for row in response.groups
                ]

            return await self._at_node(node_id, "listing groups", ask)

        lists = await asyncio.gather(*(list_at(node_id) for node_id in await self._all_nodes()))
        return tuple(sorted((group for groups in lists for group in groups), key=lambda group: group.group_id))

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription]:
        """Groups with their members; one that does not exist has the error GROUP_ID_NOT_FOUND."""
        ids = list(dict.fromkeys(group_ids))
        found = await asyncio.gather(*(self._describe_group(group_id) for group_id in ids))
        return dict(zip(ids, found, strict=True))

    async def _describe_group(self, group_id: str) -> GroupDescription:
        async def ask(connection: Connection) -> GroupDescription:
            if connection.versions.serves(ConsumerGroupDescribeRequest):
                description = await self._describe_modern(connection, group_id)
                if description is not None:
                    return description
            return await self._describe_classic(connection, group_id)

        try:
            return await self._at_coordinator(group_id, f"describing group {group_id!r}", ask)
        except KafkaError as error:
            return GroupDescription(group_id, error=error)

    async def _describe_modern(self, connection: Connection, group_id: str) -> GroupDescription | None:
        """A group of the consumer protocol (KIP-848); None if there is none of that type."""
        request = ConsumerGroupDescribeRequest(group_ids=[group_id])
        response = await connection.request(request, ConsumerGroupDescribeResponse)
        row = response.groups[0]
        error = error_of(row.error_code, row.error_message)
        if error is not None and error.code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        raise_if_moved(error)
        return GroupDescription(
            group_id,
            row.group_state,
            "consumer",
            _CONSUMER_PROTOCOL,
            row.assignor_name,
            await self._cluster.coordinator(group_id),
            tuple(map(_modern_member, row.members)),
            row.group_epoch,
            row.assignment_epoch,
            error,
        )

    async def _describe_classic(self, connection: Connection, group_id: str) -> GroupDescription:
        response = await connection.request(DescribeGroupsRequest(groups=[group_id]), DescribeGroupsResponse)
        row = response.groups[0]
        error = error_of(row.error_code, row.error_message)
        raise_if_moved(error)
        if error is None and row.group_state == "Dead":
            # Before version 6 an unknown group was described as a dead one.
            error = KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id!r}")
        is_consumer = row.protocol_type in (_CONSUMER_PROTOCOL, "")
        return GroupDescription(
            group_id,
            row.group_state,
            "classic",
            row.protocol_type,
            row.protocol_data,
            await self._cluster.coordinator(group_id),
            tuple(_classic_member(member, is_consumer=is_consumer) for member in row.members),
            error=error,
        )

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, KafkaError | None]:
        """Delete groups without members, with their offsets; returns the error of each."""

        async def delete(group_id: str) -> KafkaError | None:
            async def ask(connection: Connection) -> KafkaError | None:
                response = await connection.request(DeleteGroupsRequest(groups_names=[group_id]), DeleteGroupsResponse)
                error = error_of(response.results[0].error_code)
                raise_if_moved(error)
                return error

            try:
                return await self._at_coordinator(group_id, f"deleting group {group_id!r}", ask)
            except KafkaError as error:
                return error

        ids = list(dict.fromkeys(group_ids))
        return dict(zip(ids, await asyncio.gather(*map(delete, ids)), strict=True))

    async def remove_members(
        self,
        group_id: str,
        *,
        instance_ids: Iterable[str] = (),
        member_ids: Iterable[str] = (),
        reason: str | None = None,
    ) -> tuple[RemovedMember, ...]:
        """Make members leave: static ones by instance id, others by member id; without any, all members."""
        members = [MemberIdentity(group_instance_id=name, reason=reason) for name in instance_ids]
        members += [MemberIdentity(member_id=name, reason=reason) for name in member_ids]
        if not members:
            described = (await self.describe_groups([group_id]))[group_id]
            if described.error is not None:
                raise described.error
            members = [
                MemberIdentity(member_id=member.member_id, group_instance_id=member.instance_id, reason=reason)
                for member in described.members
            ]

        async def ask(connection: Connection) -> tuple[RemovedMember, ...]:
            version = connection.version_of(LeaveGroupRequest, lowest=3)
            request = LeaveGroupRequest(group_id=group_id, members=members)
            response = await connection.request(request, LeaveGroupResponse, version=version)
            raise_for(response.error_code)
            return tuple(
                RemovedMember(row.member_id, row.group_instance_id, error_of(row.error_code))
                for row in response.members
            )

        if not members:
            return ()
        return await self._at_coordinator(group_id, f"removing members of group {group_id!r}", ask)

    async def list_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None, *, require_stable: bool = False
    ) -> dict[TopicPartition, CommittedOffset]:
        """What a group has committed, for all or some partitions."""
        return await group_offsets.fetch_group_offsets(
            self._cluster, group_id, partitions, require_stable=require_stable
        )

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int | CommittedOffset]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Commit offsets for a group without members; UNKNOWN_MEMBER_ID means that it has some."""
        given = {
            partition: offset if isinstance(offset, CommittedOffset) else CommittedOffset(offset)
            for partition, offset in offsets.items()
        }
        return await group_offsets.commit_group_offsets(self._cluster, group_id, given)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Forget what a group committed for topics that its members do not read now."""
        return await group_offsets.delete_group_offsets(self._cluster, group_id, partitions)


def _classic_member(row: classic.DescribedGroupMember, *, is_consumer: bool) -> MemberDescription:
    assignment = decode_assignment(row.member_assignment) if is_consumer else ()
    subscription = decode_subscription(row.member_metadata) if is_consumer else None
    return MemberDescription(
        row.member_id,
        row.group_instance_id,
        row.client_id,
        row.client_host,
        assignment,
        subscription.topics if subscription else (),
        rack=subscription.rack if subscription else None,
    )


def _modern_member(row: modern.Member) -> MemberDescription:
    return MemberDescription(
        row.member_id,
        row.instance_id,
        row.client_id,
        row.client_host,
        _partitions(row.assignment),
        tuple(row.subscribed_topic_names),
        _partitions(row.target_assignment),
        row.member_epoch,
        row.rack_id,
    )


def _partitions(assignment: modern.Assignment | None) -> tuple[TopicPartition, ...]:
    rows = assignment.topic_partitions if assignment else ()
    return tuple(TopicPartition(row.topic_name, number) for row in rows for number in row.partitions)
