"""Fetch: returns whole batches from some partitions, as soon as there is enough or the client's patience is over.

Versions: 4 is the oldest, with isolation level; 5 log start offset; 7 fetch sessions (KIP-227); 9 leader epochs; 10
allows zstd; 11 rack; 12 flexible, and tells a diverging epoch; 13 names topics by id (KIP-516); 15 moves the replica id
into a tag (KIP-903); 16 hints at the leader's endpoint (KIP-951); 17 directory ids; 18 the follower's high watermark.

Rules: an offset inside a batch returns the whole batch; the first batch is returned even if it is larger than the
limits; a consumer sees nothing above the high watermark, a read_committed one nothing above the last stable offset. A
fetch with a replica id is a follower's: it is refused while this node is alone (CVE-2018-1288).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from ottla.broker.clock import now_ms
from ottla.broker.leader_hints import HINTED_ERRORS, current_leader, leader_endpoints
from ottla.broker.purgatory import readable
from ottla.broker.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ottla.replication.fetch_session import FetchPartition, FetchScope, PartitionKey
from ottla.replication.partition import Partition
from ottla.storage.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable

API_KEY = ApiKey.FETCH
REQUEST = FetchRequest
READ_COMMITTED = 1


def handle(context: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    """Answers at once with what there is, if it is enough; otherwise waits for data."""
    uses_topic_ids = context.api_version >= 13
    replica_id = request.replica_id if context.api_version < 15 else _replica_id(request)
    try:
        scope = context.broker.fetch_sessions.scope(
            request.session_id,
            request.session_epoch,
            _named(request, uses_topic_ids),
            _forgotten(request, uses_topic_ids),
            uses_topic_ids=uses_topic_ids,
            is_privileged=replica_id >= 0,
            now_ms=now_ms(),
        )
    except ApiError as error:
        return FetchResponse(error_code=error.code, session_id=0)
    fetching = _Fetching(context, request, scope)
    if replica_id >= 0:
        fetching.refuse_follower()
        return fetching.answer()
    fetching.read_all(allow_blocking=False)
    if fetching.is_cold or not fetching.is_enough():
        return fetching.finish(fetching.watch(request.max_wait_ms))
    return fetching.answer()


def error_response(context: RequestContext, request: FetchRequest, error: ApiError) -> FetchResponse:
    """One error for the whole request."""
    del context, request
    return FetchResponse(error_code=error.code)


def _replica_id(request: FetchRequest) -> int:
    return -1 if request.replica_state is None else request.replica_state.replica_id


def _named(request: FetchRequest, uses_topic_ids: bool) -> list[FetchPartition]:
    return [
        FetchPartition(
            topic.topic_id if uses_topic_ids else topic.topic,
            row.partition,
            row.fetch_offset,
            row.partition_max_bytes,
            row.current_leader_epoch,
            row.last_fetched_epoch,
        )
        for topic in request.topics
        for row in topic.partitions
    ]


def _forgotten(request: FetchRequest, uses_topic_ids: bool) -> list[PartitionKey]:
    return [
        (topic.topic_id if uses_topic_ids else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


class _Fetching:
    """One Fetch request on its way."""

    __slots__ = (
        "bytes_read",
        "context",
        "disk_errors",
        "has_error",
        "hinted_leaders",
        "is_cold",
        "is_committed_only",
        "request",
        "rows",
        "scope",
    )

    def __init__(self, context: RequestContext, request: FetchRequest, scope: FetchScope) -> None:
        self.context = context
        self.request = request
        self.scope = scope
        self.is_committed_only = request.isolation_level == READ_COMMITTED
        self.rows: list[tuple[FetchPartition, PartitionData]] = []
        self.bytes_read = 0
        self.has_error = False
        self.is_cold = False
        self.hinted_leaders: set[int] = set()
        self.disk_errors: list[StorageError] = []

    def is_enough(self) -> bool:
        """Whether waiting could not improve the answer, or nobody asked us to wait."""
        return (
            self.bytes_read >= self.request.min_bytes
            or self.has_error
            or self.request.max_wait_ms <= 0
            or not self.scope.partitions
        )

    def watch(self, timeout_ms: int) -> asyncio.Future[None]:
        """Done when another look is worth it. Begun in the same turn as a look, so that no append is missed."""
        replicas = self.context.broker.replicas
        watched = []
        for wanted in self.scope.partitions:
            with contextlib.suppress(ApiError):
                watched.append(replicas.partition(self._topic_name(wanted), wanted.index))
        return readable(watched, self.request.min_bytes - self.bytes_read, timeout_ms)

    async def finish(self, moved: asyncio.Future[None]) -> FetchResponse:
        """Reads what must come from the disk, and waits for data until there is enough or time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.request.max_wait_ms / 1000
        try:
            while True:
                if self.is_cold:
                    await loop.run_in_executor(self.context.broker.workers, self.read_all, True)
                left_ms = int((deadline - loop.time()) * 1000)
                if self.is_enough() or left_ms <= 0:
                    return self.answer()
                await moved
                self.read_all(allow_blocking=False)
                moved = self.watch(left_ms)
        finally:
            moved.cancel()

    def read_all(self, allow_blocking: bool) -> None:
        """Reads every partition within the limits; stops with `is_cold` where that would mean to wait for a disk."""
        self.rows.clear()
        self.bytes_read = 0
        self.has_error = self.is_cold = False
        left = min(self.request.max_bytes, self.context.broker.config.get_int("fetch.max.bytes"))
        for wanted in self.scope.partitions:
            row = PartitionData(partition_index=wanted.index, high_watermark=-1, aborted_transactions=None)
            try:
                self._read(wanted, row, left, allow_blocking)
            except ApiError as error:
                self._refuse(wanted, row, error)
            except StorageError as error:
                # This may be a thread; the directory is taken offline on the event loop, with the answer.
                self.disk_errors.append(error)
                self._refuse(wanted, row, ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
            if self.is_cold:
                return
            self.rows.append((wanted, row))
            size = len(row.records or b"")
            self.bytes_read += size
            left = max(left - size, 0)

    def refuse_follower(self) -> None:
        """A follower's fetch: nobody follows a node that is alone."""
        error = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "This node has no followers")
        for wanted in self.scope.partitions:
            row = PartitionData(partition_index=wanted.index, high_watermark=-1, aborted_transactions=None)
            self._refuse(wanted, row, error)
            self.rows.append((wanted, row))

    def answer(self) -> FetchResponse:
        """The response, in a session without the partitions about which there is nothing new to say."""
        for error in self.disk_errors:
            self.context.broker.replicas.disk_failed(error)
        session = self.scope.session
        topics: dict[bytes | str, FetchableTopicResponse] = {}
        for wanted, row in self.rows:
            if session is not None:
                is_news = _is_news(wanted, row)
                wanted.sent_high_watermark = row.high_watermark
                wanted.sent_log_start_offset = row.log_start_offset
                if row.records:
                    session.move_to_end(wanted.key)
                if self.scope.is_incremental and not is_news:
                    continue
            topic = topics.get(wanted.topic)
            if topic is None:
                topic = topics[wanted.topic] = _topic_row(wanted.topic)
            topic.partitions.append(row)  # type: ignore[attr-defined]  # made by _topic_row, with a list
        endpoints = [
            NodeEndpoint(node_id=broker.id, host=listener.host, port=listener.port, rack=broker.rack)
            for broker, listener in leader_endpoints(self.context, self.hinted_leaders)
        ]
        return FetchResponse(
            session_id=self.scope.session_id, responses=list(topics.values()), node_endpoints=endpoints
        )

    def _topic_name(self, wanted: FetchPartition) -> str:
        if isinstance(wanted.topic, str):
            return wanted.topic
        return self.context.broker.replicas.topic_name(wanted.topic)

    def _read(self, wanted: FetchPartition, row: PartitionData, bytes_left: int, allow_blocking: bool) -> None:
        partition = self.context.broker.replicas.partition(self._topic_name(wanted), wanted.index)
        partition.require_leader()
        partition.check_leader_epoch(wanted.current_leader_epoch)
        log = partition.log
        row.high_watermark = log.high_watermark
        row.last_stable_offset = log.last_stable_offset
        row.log_start_offset = log.log_start_offset
        if wanted.last_fetched_epoch >= 0 and self._diverges(partition, wanted, row):
            return
        limit = log.last_stable_offset if self.is_committed_only else log.high_watermark
        read = log.read(
            wanted.fetch_offset,
            min(wanted.partition_max_bytes, bytes_left),
            max_offset_exclusive=limit,
            min_one_batch=self.bytes_read == 0,
            allow_blocking=allow_blocking,
        )
        if read.is_cold:
            self.is_cold = True
            return
        row.records = read.records
        if self.is_committed_only:
            row.aborted_transactions = [
                AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
                for aborted in log.aborted_transactions(wanted.fetch_offset, limit)
            ]

    def _diverges(self, partition: Partition, wanted: FetchPartition, row: PartitionData) -> bool:
        epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
        if epoch == wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
            return False
        row.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
        self.has_error = True
        return True

    def _refuse(self, wanted: FetchPartition, row: PartitionData, error: ApiError) -> None:
        self.has_error = True
        row.error_code = error.code
        if error.code in HINTED_ERRORS:
            leader_id, leader_epoch = current_leader(self.context, self._topic_name(wanted), wanted.index)
            row.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
            self.hinted_leaders.add(leader_id)


def _topic_row(topic: bytes | str) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=[])
    return FetchableTopicResponse(topic_id=topic, partitions=[])


def _is_news(wanted: FetchPartition, row: PartitionData) -> bool:
    return bool(
        row.records
        or row.error_code
        or row.diverging_epoch is not None
        or row.high_watermark != wanted.sent_high_watermark
        or row.log_start_offset != wanted.sent_log_start_offset
    )
