"""The coordinator of a node on a real event loop, over a log in memory."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from harness.waiting import eventually_async
from ottla.broker.coordinators.groups.record_batches import encode_transactional_batch
from ottla.broker.requests.time_slice import TimeSlice
from ottla.coordinator.group.records import CommittedOffset, OffsetRecord
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import ControlType, control_batch, control_key, end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group_request import MemberIdentity
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from ottla.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.record_batch import parse_header
from unit.broker.coordinators.groups.fakes import MemoryLog, Node, image_with

T = TypeVar("T")
LONG_SLICE = TimeSlice(time.monotonic, seconds=3600.0)


def run(scenario: Callable[[], Awaitable[T]]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(20):
            return await scenario()

    return asyncio.run(bounded())


def join_request(member_id: str = "", session_ms: int = 6_000) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=1_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


def commit_request(offset: int, group_id: str = "g") -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])


def committed(node: Node, group_id: str = "g") -> int:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    return node.groups.fetch_offsets(group_id, topics)[0].partitions[0].committed_offset


def is_unstable(node: Node) -> bool:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    row = node.groups.fetch_offsets("g", topics, require_stable=True)[0].partitions[0]
    return row.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


async def join(node: Node) -> str:
    refused = await node.groups.join(join_request(), 9, "c", "/h")
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    answer = await node.groups.join(join_request(refused.member_id), 9, "c", "/h")
    assert answer.error_code == ErrorCode.NONE
    return answer.member_id


async def stable_member(node: Node) -> str:
    member_id = await join(node)
    answer = await node.groups.sync(sync_request(member_id))
    assert answer.assignment == b"all"
    return member_id


def sync_request(member_id: str) -> SyncGroupRequest:
    assignment = SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")
    return SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=[assignment])


def heartbeat(node: Node, member_id: str) -> ErrorCode:
    return node.groups.heartbeat(HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id))


def test_a_member_joins_syncs_beats_commits_and_leaves() -> None:
    async def scenario() -> None:
        node = await Node().serve()
        member_id = await stable_member(node)
        assert heartbeat(node, member_id) is ErrorCode.NONE
        request = commit_request(42)
        request.member_id, request.generation_id_or_member_epoch = member_id, 1
        response: Any = node.groups.commit_offsets(request, 9)
        assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
        assert committed(node) == 42
        assert node.groups.describe_groups(["g"], 6)[0].group_state == "Stable"
        rows: Any = node.groups.leave("g", [MemberIdentity(member_id=member_id)])
        assert [row.error_code for row in rows] == [ErrorCode.NONE]
        assert (await node.groups.list_groups(["EMPTY"], ["Classic"], LONG_SLICE))[0].group_id == "g"
        await node.stop()

    run(scenario)


def test_a_restart_finds_groups_and_offsets_again() -> None:
    async def scenario() -> None:
        node = await Node().serve()
        member_id = await stable_member(node)
        node.groups.commit_offsets(commit_request(5, "simple"), 9)
        await node.stop()
        again = await Node(node.log).serve()
        assert heartbeat(again, member_id) is ErrorCode.NONE
        assert committed(again, "simple") == 5
        await again.stop()

    run(scenario)


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_are_compressed_as_configured_and_read_again(codec: Codec) -> None:
    async def scenario() -> None:
        node = await Node(offsets_topic_compression_codec=codec).serve()
        node.groups.commit_offsets(commit_request(5, "simple"), 9)
        assert {parse_header(batch).codec for batch in node.log.batches[0]} == {codec}
        await node.stop()
        again = await Node(node.log).serve()
        assert committed(again, "simple") == 5
        await again.stop()

    run(scenario)


def test_records_that_cannot_be_read_are_skipped_with_a_counted_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        node = await Node().serve()
        node.groups.commit_offsets(commit_request(5), 9)
        builder = BatchBuilder()
        builder.append(b"\0\x63future", b"\0\0", timestamp_ms=1)
        builder.append(b"\0\x63future2", b"\0\0", timestamp_ms=1)
        builder.append(None, b"\0\0", timestamp_ms=1)
        node.log.append(0, builder.build())
        await node.stop()
        again = await Node(node.log).serve()
        assert committed(again) == 5
        await again.stop()

    run(scenario)
    assert "skipped 2 of record type 99, which this release does not know. Nothing is lost" in caplog.text
    assert "skipped 1 of record without a key" in caplog.text


def test_groups_are_refused_until_their_partition_is_loaded() -> None:
    async def scenario() -> None:
        node = Node()
        builder = BatchBuilder()
        builder.append(b"\x00\x63", b"", timestamp_ms=0)
        node.log.append(0, builder.build())
        with pytest.raises(ApiError) as raised:
            node.groups.all_offsets("g")
        assert raised.value.code is ErrorCode.NOT_COORDINATOR
        node.groups.shards.become_leader(0, 0)
        with pytest.raises(ApiError) as raised:
            node.groups.all_offsets("g")
        assert raised.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert heartbeat(node, "m") is ErrorCode.NONE
        with pytest.raises(ApiError):
            await node.groups.list_groups([], [], LONG_SLICE)
        await node.groups.shards.loaded()
        assert list(node.groups.all_offsets("g")) == []
        assert heartbeat(node, "m") is ErrorCode.UNKNOWN_MEMBER_ID
        await node.stop()

    run(scenario)


def test_losing_leadership_answers_whoever_waits() -> None:
    async def scenario() -> None:
        node = await Node(group_initial_rebalance_delay_ms=60_000).serve()
        refused = await node.groups.join(join_request(), 9, "c", "/h")
        parked = node.groups.join(join_request(refused.member_id), 9, "c", "/h")
        node.groups.shards.resign(0)
        assert (await parked).error_code == ErrorCode.NOT_COORDINATOR
        assert heartbeat(node, refused.member_id) is ErrorCode.NOT_COORDINATOR
        await node.stop()

    run(scenario)


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeouts_have_bounds(session_ms: int) -> None:
    async def scenario() -> None:
        node = await Node().serve()
        with pytest.raises(ApiError) as raised:
            node.groups.join(join_request(session_ms=session_ms), 9, "c", "/h")
        assert raised.value.code is ErrorCode.INVALID_SESSION_TIMEOUT
        assert str(session_ms) in raised.value.message
        await node.stop()

    run(scenario)


def test_an_empty_group_id_is_refused_by_membership_and_allowed_for_offsets() -> None:
    async def scenario() -> None:
        node = await Node().serve()
        request = join_request()
        request.group_id = ""
        for refused in (
            lambda: node.groups.join(request, 9, "c", "/h"),
            lambda: node.groups.sync(SyncGroupRequest()),
            lambda: node.groups.heartbeat(HeartbeatRequest()),
            lambda: node.groups.leave("", []),
        ):
            with pytest.raises(ApiError) as raised:
                refused()
            assert raised.value.code is ErrorCode.INVALID_GROUP_ID
        node.groups.commit_offsets(commit_request(3, ""), 9)
        assert committed(node, "") == 3
        await node.stop()

    run(scenario)


class TestCommitsThatWait:
    def test_an_offset_is_answered_and_visible_once_it_is_committed(self) -> None:
        async def scenario() -> None:
            node = await Node().serve()
            node.log.holds_commits = True
            pending: Any = node.groups.commit_offsets(commit_request(5), 9)
            waiting = asyncio.ensure_future(pending)
            await node.log.waited_for()
            assert not waiting.done()
            assert committed(node) == -1
            node.log.release()
            await waiting
            assert committed(node) == 5
            await node.stop()

        run(scenario)

    def test_offsets_commit_timeout_ms_bounds_the_wait(self) -> None:
        async def scenario() -> None:
            node = await Node(offsets_commit_timeout_ms=1).serve()
            node.log.holds_commits = True
            pending: Any = node.groups.commit_offsets(commit_request(5), 9)
            with pytest.raises(ApiError) as raised:
                await pending
            assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            await node.stop()

        run(scenario)

    def test_a_log_that_gives_up_waiting_is_asked_again(self) -> None:
        async def scenario() -> None:
            node = await Node().serve()
            node.log.holds_commits = True
            pending: Any = node.groups.commit_offsets(commit_request(5), 9)
            waiting = asyncio.ensure_future(pending)
            await node.log.waited_for()
            node.log.release(ErrorCode.REQUEST_TIMED_OUT)
            await waiting
            assert committed(node) == 5
            await node.stop()

        run(scenario)

    def test_members_get_their_assignment_once_it_is_committed(self) -> None:
        async def scenario() -> None:
            node = await Node().serve()
            member_id = await join(node)
            node.log.holds_commits = True
            answer = node.groups.sync(sync_request(member_id))
            await node.log.waited_for()
            assert not answer.done()
            node.log.release()
            assert (await answer).assignment == b"all"
            await node.stop()

        run(scenario)


@pytest.mark.parametrize(
    ("log_error", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_of_the_log_are_told_in_a_coordinators_words(log_error: ErrorCode, told: ErrorCode) -> None:
    async def scenario() -> None:
        node = await Node().serve()
        node.log.error = log_error
        with pytest.raises(ApiError) as raised:
            node.groups.commit_offsets(commit_request(5), 9)
        assert raised.value.code is told
        answer = await node.groups.join(join_request(), 3, "c", "/h")
        assert answer.error_code == told
        assert (await node.groups.delete_groups(["g"]))[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
        await node.stop()

    run(scenario)


def test_the_loop_serves_deadlines_by_itself() -> None:
    async def scenario() -> None:
        node = await Node(group_initial_rebalance_delay_ms=20).serve()
        member_id = await join(node)
        assert node.groups.describe_groups(["g"], 6)[0].members[0].member_id == member_id
        await node.stop()

    run(scenario)


def test_expired_offsets_are_cleaned_periodically() -> None:
    async def scenario() -> None:
        node = await Node(offsets_retention_minutes=0, offsets_retention_check_interval_ms=1).serve()
        node.groups.commit_offsets(commit_request(5), 9)
        node.groups.start()
        await eventually_async(lambda: node.groups.list_groups([], [], LONG_SLICE), lambda found: found == [])
        assert committed(node) == -1
        await node.stop()

    run(scenario)


def commit_many(node: Node, count: int) -> None:
    partitions = [OffsetCommitRequestPartition(partition_index=p, committed_offset=1) for p in range(count)]
    topic = OffsetCommitRequestTopic(name="t", partitions=partitions)
    node.groups.commit_offsets(OffsetCommitRequest(group_id="g", topics=[topic]), 9)


def test_many_deleted_offsets_are_written_in_batches() -> None:
    async def scenario() -> None:
        node = await Node().serve()
        commit_many(node, 1_200)
        node.groups.topics_deleted({"t"})
        await node.background_ended()
        assert list(node.groups.all_offsets("g")) == []
        assert len(node.log.batches[0]) == 1 + 3
        await node.stop()

    run(scenario)


def test_a_batch_of_deleted_offsets_that_is_refused_does_not_keep_the_others_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        node = await Node().serve()
        commit_many(node, 1_200)
        node.log.next_errors = [ErrorCode.MESSAGE_TOO_LARGE]
        node.groups.topics_deleted({"t"})
        await node.background_ended()
        assert [row.partition_index for _, row in node.groups.all_offsets("g")] == list(range(500))
        assert "refused 500 tombstones" in caplog.text
        await node.stop()

    run(scenario)


def test_groups_are_deleted_across_partitions_in_the_order_asked() -> None:
    async def scenario() -> None:
        node = await Node(image=image_with(offsets_partitions=3)).serve(partitions=3)
        for group_id in ("g1", "g2", "grüße-😀"):
            node.groups.commit_offsets(commit_request(1, group_id), 9)
        assert sorted(node.log.batches) == [0, 1, 2]
        rows = await node.groups.delete_groups(["g2", "none", "g1"])
        assert [(row.group_id, row.error_code) for row in rows] == [
            ("g2", ErrorCode.NONE),
            ("none", ErrorCode.GROUP_ID_NOT_FOUND),
            ("g1", ErrorCode.NONE),
        ]
        assert [group.group_id for group in (await node.groups.list_groups([], [], LONG_SLICE))] == ["grüße-😀"]
        await node.stop()

    run(scenario)


def offset_batch(offset: int, producer_id: int) -> bytearray:
    record = OffsetRecord("g", "t", 0, CommittedOffset(offset, -1, "", 0))
    return encode_transactional_batch([record], 1, producer_id, 0)


def marker_batch(producer_id: int, *, is_commit: bool) -> bytearray:
    return end_txn_batch(
        producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=1
    )


def test_a_log_with_transactions_loads_what_was_committed_and_what_is_pending() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        log.append(0, offset_batch(5, producer_id=1))
        log.append(0, offset_batch(6, producer_id=2))
        log.append(0, offset_batch(7, producer_id=3))
        log.append(0, marker_batch(1, is_commit=True))
        log.append(0, marker_batch(2, is_commit=False))
        log.append(0, marker_batch(9, is_commit=True))
        node = await Node(log).serve()
        assert committed(node) == 5
        (shard,) = node.groups.loaded_shards()
        assert shard.offsets.pending("g") == {("t", 0)}
        assert await node.groups.end_transaction(0, 3, 0, 0, True, 0) is ErrorCode.NONE
        assert committed(node) == 7
        await node.stop()

    run(scenario)


def test_a_marker_that_cannot_be_read_keeps_no_partition_from_being_served(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        log = MemoryLog()
        log.append(0, offset_batch(5, producer_id=1))
        log.append(0, marker_batch(1, is_commit=True))
        builder = BatchBuilder(producer_id=1, producer_epoch=0, is_transactional=True, is_control=True)
        builder.append(control_key(ControlType.COMMIT), b"", timestamp_ms=1)
        log.append(0, builder.build())
        log.append(0, control_batch(ControlType.LEADER_CHANGE, b"", timestamp_ms=1))
        node = await Node(log).serve()
        assert committed(node) == 5
        await node.stop()

    run(scenario)
    assert (
        "skipped 1 that cannot be read: CORRUPT_MESSAGE: an end-of-transaction marker has no coordinator epoch"
        in caplog.text
    )


def test_what_a_transaction_commits_is_unstable_until_its_marker_is_committed() -> None:
    async def scenario() -> None:
        node = await Node().serve()
        node.log.holds_commits = True
        request = TxnOffsetCommitRequest(
            group_id="g",
            producer_id=1,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name="t", partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
                )
            ],
        )
        answer = node.groups.commit_transactional_offsets(request, None)
        assert isinstance(answer, Awaitable)
        assert is_unstable(node)
        commit = asyncio.ensure_future(answer)
        marker = asyncio.ensure_future(node.groups.end_transaction(0, 1, 0, 0, True, 0))
        await node.log.waited_for()
        assert is_unstable(node)
        node.log.release()
        await commit
        assert await marker is ErrorCode.NONE
        assert (is_unstable(node), committed(node)) == (False, 5)
        await node.stop()

    run(scenario)


@pytest.mark.parametrize(
    ("error", "heard"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_marker_that_was_not_committed_is_sent_again_by_its_coordinator(error: ErrorCode, heard: ErrorCode) -> None:
    async def scenario() -> None:
        node = await Node().serve()
        node.log.holds_commits = True
        marker = asyncio.ensure_future(node.groups.end_transaction(0, 1, 0, 0, True, 0))
        await node.log.waited_for()
        node.log.release(error)
        assert await marker is heard
        await node.stop()

    run(scenario)
