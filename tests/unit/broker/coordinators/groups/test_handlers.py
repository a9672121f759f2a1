"""The group and offset APIs in every version, through the codec, against answers that Apache Kafka 4.3 gave."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

import pytest

from ottla.broker.handlers import (
    k08_offset_commit,
    k09_offset_fetch,
    k10_find_coordinator,
    k11_join_group,
    k12_heartbeat,
    k13_leave_group,
    k14_sync_group,
    k15_describe_groups,
    k16_list_groups,
    k42_delete_groups,
    k47_offset_delete,
)
from ottla.broker.host import Machine
from ottla.broker.requests.request_context import RequestContext
from ottla.config.broker_config import BrokerConfig
from ottla.protocol.codec import decode, encode
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_groups_request import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups_request import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.schema import Message
from unit.broker.coordinators.groups.fakes import NODE_ID, TOPIC_ID, Node, image_with

T = TypeVar("T")
UNKNOWN_ID = b"1" * 16


class Client:
    """Calls handlers as the dispatcher does: bytes in, bytes out."""

    def __init__(self, node: Node) -> None:
        self.node = node

    async def call(self, module: ModuleType, request: Message, version: int) -> Any:
        services = SimpleNamespace(
            coordinators=SimpleNamespace(groups=self.node.groups),
            image=self.node.image,
            config=BrokerConfig({"node.id": str(NODE_ID)}),
            host=Machine(),
        )
        context = RequestContext(module.API_KEY, version, None, "10.0.0.1", "L", "User:ANONYMOUS", services)  # type: ignore[arg-type]
        received = decode(module.REQUEST, encode(request, version), version)
        try:
            response = module.handle(context, received)
            if inspect.isawaitable(response):
                response = await response
        except ApiError as error:
            response = module.error_response(context, received, error)
        return decode(type(response), encode(response, version), version)


def scenario(story: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def tell() -> None:
        node = await Node().serve()
        async with asyncio.timeout(20):
            await story(Client(node))
        await node.stop()

    asyncio.run(tell())


def versions(request: type[Message]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("version", list(request.VERSIONS))


def join(member_id: str = "", group_id: str = "g") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


def commit(version: int, offset: int = 5, group_id: str = "g", partition: int = 0) -> OffsetCommitRequest:
    row = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="x")
    topic = OffsetCommitRequestTopic(partitions=[row])
    if version >= 10:
        topic.topic_id = TOPIC_ID
    else:
        topic.name = "t"
    return OffsetCommitRequest(group_id=group_id, topics=[topic])


@versions(JoinGroupRequest)
def test_join_sync_heartbeat_and_leave_work_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        joined = await client.call(k11_join_group, join(), version)
        if version >= 4:
            assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
            joined = await client.call(k11_join_group, join(joined.member_id), version)
        assert (joined.error_code, joined.generation_id, joined.protocol_name) == (ErrorCode.NONE, 1, "range")
        assert joined.protocol_type == ("consumer" if version >= 7 else None)
        assert joined.leader == joined.member_id
        assert joined.member_id.startswith("-"), "a client without an id has an empty one"
        member_id = joined.member_id
        sync_version = min(version, 5)
        synced = await client.call(k14_sync_group, sync(member_id, sync_version), sync_version)
        assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"all")
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
        assert (await client.call(k12_heartbeat, beat, min(version, 4))).error_code == ErrorCode.NONE
        described = await client.call(k15_describe_groups, DescribeGroupsRequest(groups=["g"]), min(version, 6))
        assert described.groups[0].members[0].client_host == "/10.0.0.1"
        leave_version = min(version, 5)
        left = await client.call(k13_leave_group, leave(member_id, leave_version), leave_version)
        assert left.error_code == ErrorCode.NONE
        assert [row.error_code for row in left.members] == ([ErrorCode.NONE] if leave_version >= 3 else [])

    scenario(story)


def sync(member_id: str, version: int) -> SyncGroupRequest:
    request = SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=member_id,
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")],
    )
    if version >= 5:
        request.protocol_type, request.protocol_name = "consumer", "range"
    return request


def leave(member_id: str, version: int, group_id: str = "g") -> LeaveGroupRequest:
    if version >= 3:
        return LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id=member_id)])
    return LeaveGroupRequest(group_id=group_id, member_id=member_id)


def test_the_first_version_of_join_waits_as_long_as_a_session() -> None:
    async def story(client: Client) -> None:
        request = join()
        request.rebalance_timeout_ms = -1
        await client.call(k11_join_group, request, 0)
        active = client.node.groups.shards.active(0)
        assert active is not None
        assert active.shard.groups["g"].rebalance_timeout_ms == 10_000

    scenario(story)


@versions(JoinGroupRequest)
def test_refused_joins_can_be_said_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        short = join("m")
        short.session_timeout_ms = 100
        for request, error, member_id in (
            (join(group_id=""), ErrorCode.INVALID_GROUP_ID, ""),
            (short, ErrorCode.INVALID_SESSION_TIMEOUT, "m"),
            (join("m"), ErrorCode.UNKNOWN_MEMBER_ID, "m"),
        ):
            answer = await client.call(k11_join_group, request, version)
            assert (answer.error_code, answer.generation_id, answer.member_id) == (error, -1, member_id)
            assert answer.protocol_name == (None if version >= 7 else "")

    scenario(story)


def test_sync_without_its_mandatory_protocol_is_inconsistent() -> None:
    async def story(client: Client) -> None:
        answer = await client.call(k14_sync_group, SyncGroupRequest(group_id="nope"), 5)
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        answer = await client.call(k14_sync_group, SyncGroupRequest(group_id=""), 4)
        assert answer.error_code == ErrorCode.INVALID_GROUP_ID

    scenario(story)


@versions(LeaveGroupRequest)
def test_leaving_an_unknown_group_is_said_where_the_version_has_room(version: int) -> None:
    async def story(client: Client) -> None:
        answer = await client.call(k13_leave_group, leave("x", version, "nope"), version)
        if version >= 3:
            assert answer.error_code == ErrorCode.NONE
            assert [row.error_code for row in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
        else:
            assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        answer = await client.call(k13_leave_group, leave("x", version, ""), version)
        assert answer.error_code == ErrorCode.INVALID_GROUP_ID

    scenario(story)


@versions(OffsetCommitRequest)
def test_offsets_are_committed_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        answer = await client.call(k08_offset_commit, commit(version), version)
        (topic,) = answer.topics
        assert (topic.name, topic.topic_id) == (("", TOPIC_ID) if version >= 10 else ("t", bytes(16)))
        assert [row.error_code for row in topic.partitions] == [ErrorCode.NONE]
        active = client.node.groups.shards.active(0)
        assert active is not None
        stored = active.shard.offsets.committed("g")["t"][0]
        assert (stored.offset, stored.metadata, stored.topic_id) == (5, "x", TOPIC_ID)

    scenario(story)


def test_each_row_of_a_commit_is_answered_in_its_place() -> None:
    async def story(client: Client) -> None:
        request = OffsetCommitRequest(
            group_id="g",
            topics=[
                OffsetCommitRequestTopic(
                    name="t",
                    partitions=[
                        OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata=None),
                        OffsetCommitRequestPartition(partition_index=9, committed_offset=3),
                        OffsetCommitRequestPartition(
                            partition_index=1, committed_offset=3, committed_metadata="x" * 4097
                        ),
                    ],
                ),
                OffsetCommitRequestTopic(
                    name="zzz", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=3)]
                ),
            ],
        )
        answer = await client.call(k08_offset_commit, request, 9)
        assert [(t.name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions] == [
            ("t", 0, ErrorCode.NONE),
            ("t", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ("t", 1, ErrorCode.OFFSET_METADATA_TOO_LARGE),
            ("zzz", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]
        request.generation_id_or_member_epoch, request.member_id, request.group_id = 1, "m", "other"
        answer = await client.call(k08_offset_commit, request, 9)
        assert [p.error_code for t in answer.topics for p in t.partitions] == [
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]

    scenario(story)


def test_an_unknown_topic_id_is_named_as_such() -> None:
    async def story(client: Client) -> None:
        request = commit(10)
        request.topics[0].topic_id = UNKNOWN_ID
        answer = await client.call(k08_offset_commit, request, 10)
        assert answer.topics[0].topic_id == UNKNOWN_ID
        assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID

    scenario(story)


def test_commits_that_wait_for_the_log_are_answered_row_by_row_too() -> None:
    async def story(client: Client) -> None:
        client.node.log.holds_commits = True
        waiting = asyncio.ensure_future(client.call(k08_offset_commit, commit(9), 9))
        await client.node.log.waited_for()
        client.node.log.release(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert (await waiting).topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        client.node.log.holds_commits = True
        waiting = asyncio.ensure_future(client.call(k08_offset_commit, commit(9), 9))
        await client.node.log.waited_for()
        client.node.log.release()
        assert (await waiting).topics[0].partitions[0].error_code == ErrorCode.NONE

    scenario(story)


def fetch(version: int, *, is_all: bool = False) -> OffsetFetchRequest:
    if version < 8:
        topics = None if is_all else [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
        return OffsetFetchRequest(group_id="g", topics=topics)
    asked = OffsetFetchRequestTopics(partition_indexes=[0, 1])
    if version >= 10:
        asked.topic_id = TOPIC_ID
    else:
        asked.name = "t"
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None if is_all else [asked])])


@versions(OffsetFetchRequest)
def test_offsets_are_fetched_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        await client.call(k08_offset_commit, commit(9), 9)
        answer = await client.call(k09_offset_fetch, fetch(version), version)
        topics = answer.topics if version < 8 else answer.groups[0].topics
        assert [(p.partition_index, p.committed_offset, p.metadata) for p in topics[0].partitions] == [
            (0, 5, "x"),
            (1, -1, ""),
        ]
        assert topics[0].topic_id == TOPIC_ID if version >= 10 else topics[0].name == "t"
        if version >= 2:
            answer = await client.call(k09_offset_fetch, fetch(version, is_all=True), version)
            topics = answer.topics if version < 8 else answer.groups[0].topics
            assert [(p.partition_index, p.committed_offset) for p in topics[0].partitions] == [(0, 5)]
            assert topics[0].topic_id == TOPIC_ID if version >= 10 else topics[0].name == "t"

    scenario(story)


@versions(OffsetFetchRequest)
def test_a_group_that_lives_elsewhere_is_said_where_the_version_has_room(version: int) -> None:
    async def story(client: Client) -> None:
        client.node.groups.shards.resign(0)
        answer = await client.call(k09_offset_fetch, fetch(version), version)
        if version >= 8:
            code = answer.groups[0].error_code
        elif version >= 2:
            code = answer.error_code
        else:
            code = answer.topics[0].partitions[1].error_code
        assert code == ErrorCode.NOT_COORDINATOR

    scenario(story)


def test_fetching_an_unknown_topic_id_is_named_as_such() -> None:
    async def story(client: Client) -> None:
        request = fetch(10)
        request.groups[0].topics[0].topic_id = UNKNOWN_ID  # type: ignore[index]
        answer = await client.call(k09_offset_fetch, request, 10)
        (topic,) = answer.groups[0].topics
        assert topic.topic_id == UNKNOWN_ID
        assert [(p.committed_offset, p.error_code) for p in topic.partitions] == [(-1, ErrorCode.UNKNOWN_TOPIC_ID)] * 2

    scenario(story)


@versions(FindCoordinatorRequest)
def test_the_coordinator_of_a_group_is_found_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        request = (
            FindCoordinatorRequest(coordinator_keys=["g", ""]) if version >= 4 else FindCoordinatorRequest(key="g")
        )
        answer = await client.call(k10_find_coordinator, request, version)
        rows = answer.coordinators if version >= 4 else [answer]
        for row in rows:
            assert (row.error_code, row.node_id, row.host, row.port) == (ErrorCode.NONE, NODE_ID, "host", 9)
        if version >= 4:
            assert [row.key for row in rows] == ["g", ""]

    scenario(story)


def test_coordinators_of_other_kinds() -> None:
    async def story(client: Client) -> None:
        for key_type in (2, 7):
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["k"])
            (row,) = (await client.call(k10_find_coordinator, request, 6)).coordinators
            assert (row.error_code, row.node_id, row.port) == (ErrorCode.INVALID_REQUEST, -1, -1)

    scenario(story)


@pytest.mark.parametrize("version", [3, 4])
def test_a_group_without_a_leader_has_no_coordinator_yet(version: int) -> None:
    async def story(client: Client) -> None:
        client.node.image = image_with(leader=-1)
        request = FindCoordinatorRequest(coordinator_keys=["g"]) if version >= 4 else FindCoordinatorRequest(key="g")
        answer = await client.call(k10_find_coordinator, request, version)
        row = answer.coordinators[0] if version >= 4 else answer
        assert (row.error_code, row.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
        assert "__consumer_offsets" in row.error_message

    scenario(story)


@versions(DescribeGroupsRequest)
def test_groups_are_described_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        await client.call(k08_offset_commit, commit(9), 9)
        request = DescribeGroupsRequest(groups=["g", "nope"], include_authorized_operations=version >= 3)
        known, unknown = (await client.call(k15_describe_groups, request, version)).groups
        assert (known.error_code, known.group_id, known.group_state) == (ErrorCode.NONE, "g", "Empty")
        assert known.authorized_operations == (3400 if version >= 3 else -(2**31))
        assert unknown.group_state == "Dead"
        assert unknown.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)
        if version >= 6:
            assert unknown.authorized_operations == -(2**31)

    scenario(story)


@versions(ListGroupsRequest)
def test_groups_are_listed_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        await client.call(k08_offset_commit, commit(9), 9)
        answer = await client.call(k16_list_groups, ListGroupsRequest(), version)
        (row,) = answer.groups
        assert (row.group_id, row.protocol_type) == ("g", "")
        assert row.group_state == ("Empty" if version >= 4 else "")
        assert row.group_type == ("classic" if version >= 5 else "")
        if version >= 5:
            answer = await client.call(k16_list_groups, ListGroupsRequest(types_filter=["bogus"]), version)
            assert list(answer.groups) == []
        client.node.groups.shards.resign(0)
        client.node.groups.shards.become_leader(0, 0)
        answer = await client.call(k16_list_groups, ListGroupsRequest(), version)
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await client.node.groups.shards.loaded()

    scenario(story)


@versions(DeleteGroupsRequest)
def test_groups_are_deleted_in_every_version(version: int) -> None:
    async def story(client: Client) -> None:
        await client.call(k08_offset_commit, commit(9), 9)
        request = DeleteGroupsRequest(groups_names=["g", "nope", "g"])
        answer = await client.call(k42_delete_groups, request, version)
        assert {row.group_id: row.error_code for row in answer.results} == {
            "g": ErrorCode.NONE,
            "nope": ErrorCode.GROUP_ID_NOT_FOUND,
        }
        assert len(answer.results) == 2

    scenario(story)


def test_offsets_are_deleted_row_by_row() -> None:
    def request(group_id: str) -> OffsetDeleteRequest:
        rows = [OffsetDeleteRequestPartition(partition_index=0), OffsetDeleteRequestPartition(partition_index=7)]
        return OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(name="zzz", partitions=rows[:1]),
                OffsetDeleteRequestTopic(name="t", partitions=rows),
            ],
        )

    async def story(client: Client) -> None:
        await client.call(k08_offset_commit, commit(9), 9)
        answer = await client.call(k47_offset_delete, request("g"), 0)
        assert [(t.name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions] == [
            ("zzz", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ("t", 0, ErrorCode.NONE),
            ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ]
        fetched = await client.call(k09_offset_fetch, fetch(9, is_all=True), 9)
        assert list(fetched.groups[0].topics) == []
        for group_id, error in (("", ErrorCode.INVALID_GROUP_ID), ("nope", ErrorCode.GROUP_ID_NOT_FOUND)):
            answer = await client.call(k47_offset_delete, request(group_id), 0)
            assert (answer.error_code, list(answer.topics)) == (error, [])

    scenario(story)
