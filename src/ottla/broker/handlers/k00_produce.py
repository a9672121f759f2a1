"""Produce: appends one batch to each of some partitions.

Versions: 3 is the oldest, with transactional id; 5 answers the log start offset; 7 allows zstd; 8 names single bad
records; 9 is flexible; 10 hints at the leader (KIP-951); 12 belongs to KIP-890; 13 names topics by id (KIP-516).
ApiVersions says 0 as the lowest all the same, because librdkafka decides by it whether a broker can compress
(KAFKA-18659); a request in versions 0-2 ends the connection.

acks=0 gets no answer at all; if something went wrong the connection is closed, which is the only way to tell the
client. acks=all waits until the batches are committed in the leader epoch in which they were appended, at most
`timeout_ms` for all partitions together. If a node has several disks, the same deadline bounds the wait for one that
hangs: partitions that still wait are answered with REQUEST_TIMED_OUT, and their batches may be appended later.

Transactions (KIP-98, KIP-890). The first batch of a transaction in a partition is written after its coordinator said
that the partition belongs to it; clients of versions 12 and later leave it to us to add the partition. All partitions
of a request are asked for at once, and a batch of a transaction that is open in its partition is written right away.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.coordinators.transactions.partition_adding import TransactionSupport, error_for_producer
from ottla.broker.requests.partition_view import HINTED_ERRORS, current_leader, leader_endpoints
from ottla.broker.requests.purgatory import wait_until_acknowledged
from ottla.broker.requests.request_context import CloseConnection, RequestContext
from ottla.broker.requests.transactional_batches import has_transactional_batch, require_one_transaction
from ottla.metadata.controller.topic_names import INTERNAL_TOPICS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.produce_request import ProduceRequest, TopicProduceData
from ottla.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.record_batch import TRANSACTIONAL_FLAG, BatchHeader
from ottla.protocol.schema import Records
from ottla.protocol.topic_partition import TopicPartition
from ottla.replication.append_queue import Appending
from ottla.replication.partition import KNOWN_ACKS, AppendOutcome, Partition
from ottla.storage.append_validation import (
    InvalidRecords,
    needs_opening,
    needs_rewrite,
    rewrite_batch,
    validate_client_batch,
)
from ottla.storage.errors import LogGone
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

API_KEY = ApiKey.PRODUCE
REQUEST = ProduceRequest
# Clients of this id are Kafka's own tools; they alone may write into internal topics.
ADMIN_CLIENT_ID = "__admin_client"
# A client that has no patience with replicas means replicas, not the thread that writes.
_DISK_PATIENCE_MS_MIN = 1000
_ZSTD_VERSION = 7
# From this version on the broker adds a transaction's partitions; the one before it knows TRANSACTION_ABORTABLE.
_ADDING_VERSION = 12
_ABORTABLE_VERSION = 11


def handle(
    context: RequestContext, request: ProduceRequest
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    """Appends what can be appended at once; what needs a thread or replicas is awaited."""
    production = _Production(context, request)
    try:
        if request.acks not in KNOWN_ACKS:
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; it may be -1 (all), 0 or 1")
        if has_transactional_batch(request):
            require_one_transaction(request)
    except ApiError as error:
        production.refuse_all(error)
        return production.answer()
    for topic in request.topic_data:
        production.append_topic(topic)
    if production.unverified:
        return production.verify_and_finish()
    if production.waiting:
        return production.finish()
    return production.answer()


def error_response(context: RequestContext, request: ProduceRequest, error: ApiError) -> ProduceResponse:
    """The same error for every partition."""
    production = _Production(context, request)
    production.refuse_all(error)
    return production.response()


class _Unverified(NamedTuple):
    """A batch that would begin a transaction in its partition."""

    partition: Partition
    records: Records
    header: BatchHeader
    row: PartitionProduceResponse
    guard: VerificationGuard


class _Production:
    """One Produce request on its way."""

    __slots__ = (
        "_appends",
        "_by_topic_id",
        "acks",
        "context",
        "has_failed",
        "hinted_leaders",
        "request",
        "responses",
        "unverified",
        "waiting",
    )

    def __init__(self, context: RequestContext, request: ProduceRequest) -> None:
        self.context = context
        self.request = request
        self.acks = request.acks
        self._by_topic_id = context.api_version >= 13
        self.responses: list[TopicProduceResponse] = []
        self.waiting: list[Callable[[], Awaitable[None]]] = []
        self.unverified: list[_Unverified] = []
        self._appends: list[Appending[AppendInfo]] = []
        self.hinted_leaders: set[int] = set()
        self.has_failed = False

    def append_topic(self, topic: TopicProduceData) -> None:
        context = self.context
        replicas = context.broker.replicas
        now_ms = context.broker.host.now_ms()
        name = topic.name
        rows: list[PartitionProduceResponse] = []
        self.responses.append(TopicProduceResponse(name=name, topic_id=topic.topic_id, partition_responses=rows))
        for data in topic.partition_data:
            row = PartitionProduceResponse(index=data.index, base_offset=-1)
            rows.append(row)
            try:
                if self._by_topic_id:
                    name = replicas.topic_name(topic.topic_id)
                if name in INTERNAL_TOPICS:
                    self._check_internal(name)
                partition = replicas.partition(name, data.index)
                if not partition.is_leader:
                    raise partition.not_leader()
                records = data.records or b""
                header = validate_client_batch(records, partition.log.config)
                if context.api_version < _ZSTD_VERSION:
                    _check_codec(header)
                guard = None
                if header.attributes & TRANSACTIONAL_FLAG:
                    guard = self._begin_verification(partition, header)
                if guard is None:
                    self._write(partition, records, header, row, now_ms, None)
                else:
                    self.unverified.append(_Unverified(partition, records, header, row, guard))
            except ApiError as error:
                self._refuse(row, name, error)

    def _check_internal(self, topic: str) -> None:
        if self.context.client_id != ADMIN_CLIENT_ID:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Clients may not write into the internal topic {topic}")

    def _write(
        self,
        partition: Partition,
        records: Records,
        header: BatchHeader,
        row: PartitionProduceResponse,
        now_ms: int,
        guard: VerificationGuard | None,
    ) -> None:
        config = partition.log.config
        if needs_rewrite(header, config, now_ms):
            if needs_opening(header, config, now_ms):
                self.waiting.append(partial(self._rewrite_and_append, partition, records, header, row, guard))
                return
            records, header = rewrite_batch(records, header, config, now_ms)
        outcome = partition.append(records, acks=self.acks, now_ms=now_ms, header=header, verification=guard)
        if isinstance(outcome, AppendInfo):
            row.base_offset, _, _, _, row.log_append_time_ms, row.log_start_offset, _ = outcome
            if partition.is_acknowledged(self.acks, outcome):
                return
        else:
            self._appends.append(outcome)
        self.waiting.append(partial(self._finish, partition, outcome, row))

    def _begin_verification(self, partition: Partition, header: BatchHeader) -> VerificationGuard | None:
        if not header.has_producer_id:
            return None
        return partition.begin_verification(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            supports_epoch_bump=self.context.api_version >= _ADDING_VERSION,
        )

    async def verify_and_finish(self) -> ProduceResponse | None:
        """Asks the coordinator about all batches that would begin a transaction, then writes those that may."""
        self.context.deadline(self.request.timeout_ms)
        transactional_id = self.request.transactional_id
        assert transactional_id is not None, "looked at before"
        first = self.unverified[0].header
        keys = [TopicPartition(one.partition.topic, one.partition.index) for one in self.unverified]
        support = TransactionSupport.of(
            self.context.api_version, abortable_from=_ABORTABLE_VERSION, adding_from=_ADDING_VERSION
        )
        refused = await self.context.broker.coordinators.partition_adding.add_or_verify(
            transactional_id, first.producer_id, first.producer_epoch, keys, support
        )
        for key, (partition, records, header, row, guard) in zip(keys, self.unverified, strict=True):
            try:
                if key in refused:
                    raise error_for_producer(refused[key], support)
                self._require_in_service(partition)
                self._write(partition, records, header, row, self.context.broker.host.now_ms(), guard)
            except ApiError as error:
                self._refuse(row, partition.topic, error)
        return await self.finish()

    def _require_in_service(self, partition: Partition) -> None:
        """A guard is good for the partition that gave it, wherever its log has moved since."""
        if self._present(partition) is not partition:
            raise partition.not_leader()

    def _present(self, partition: Partition) -> Partition:
        """The same partition as it is in service now, or the error that tells a client why it is not. It may have moved
        to another directory, and its name may be that of another topic by now."""
        replicas = self.context.broker.replicas
        if self._by_topic_id:
            replicas.topic_name(partition.topic_id)
        found = replicas.partition(partition.topic, partition.index)
        if found.topic_id != partition.topic_id:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.topic} was deleted, and created anew")
        return found

    async def _rewrite_and_append(
        self,
        partition: Partition,
        records: Records,
        header: BatchHeader,
        row: PartitionProduceResponse,
        guard: VerificationGuard | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        openers = self.context.broker.data_path.openers
        now = self.context.broker.host.now_ms()
        try:
            batch, header = await loop.run_in_executor(
                openers, rewrite_batch, records, header, partition.log.config, now
            )
            if guard is not None:
                self._require_in_service(partition)
            # A partition that went out of service meanwhile takes nothing.
            partition = self._present(partition)
            outcome = partition.append(batch, acks=self.acks, now_ms=now, header=header, verification=guard)
            await self._finish(partition, outcome, row)
        except ApiError as error:
            self._refuse(row, partition.topic, error)

    async def _finish(self, partition: Partition, outcome: AppendOutcome, row: PartitionProduceResponse) -> None:
        """Until the batch is as safe as topic and client ask for: appended, synced (flush.messages), replicated."""
        deadline = self.context.deadline(self.request.timeout_ms)
        try:
            info = outcome if isinstance(outcome, AppendInfo) else await outcome.result(self._disk_deadline())
            row.base_offset, _, _, _, row.log_append_time_ms, row.log_start_offset, _ = info
            if not await wait_until_acknowledged(partition, self.acks, info, deadline):
                row.error_code = ErrorCode.REQUEST_TIMED_OUT
                self.has_failed = True
        except LogGone as gone:
            self._refuse(row, partition.topic, self._whereabouts(partition, gone))
        except ApiError as error:
            self._refuse(row, partition.topic, error)

    def _whereabouts(self, partition: Partition, gone: LogGone) -> ApiError:
        """What a client should hear of a log that went away while its batch waited: moved, deleted, or offline."""
        try:
            self._present(partition)
        except ApiError as error:
            return error
        return gone

    def _disk_deadline(self) -> float:
        timeout_ms = self.request.timeout_ms
        lacking_ms = max(_DISK_PATIENCE_MS_MIN - max(timeout_ms, 0), 0)
        return self.context.deadline(timeout_ms) + lacking_ms / 1000

    def refuse_all(self, error: ApiError) -> None:
        """Refuses every partition of the request with the same error."""
        for topic in self.request.topic_data:
            rows = [PartitionProduceResponse(index=data.index) for data in topic.partition_data]
            self.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=rows)
            )
            for row in rows:
                self._refuse(row, self._name_of(topic), error)

    def _name_of(self, topic: TopicProduceData) -> str:
        """What a topic is called, as far as that is known here."""
        if not self._by_topic_id:
            return topic.name
        try:
            return self.context.broker.replicas.topic_name(topic.topic_id)
        except ApiError:
            return ""

    def _refuse(self, row: PartitionProduceResponse, topic: str, error: ApiError) -> None:
        self.has_failed = True
        row.error_code = error.code
        row.error_message = error.message
        row.base_offset = -1
        if isinstance(error, InvalidRecords):
            row.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                for index, message in error.record_errors
            ]
            partition = self.context.broker.replicas.find(topic, row.index)
            row.log_start_offset = -1 if partition is None else partition.log.log_start_offset
        if error.code in HINTED_ERRORS:
            leader_id, leader_epoch = current_leader(self.context, topic, row.index)
            row.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
            self.hinted_leaders.add(leader_id)

    async def finish(self) -> ProduceResponse | None:
        """Waits for what was not done at once. The parts run one after the other, in the order of the request."""
        self.context.deadline(self.request.timeout_ms)
        try:
            for part in self.waiting:
                await part()
        finally:
            for append in self._appends:
                append.let_go()
            # They lead back to this object, and with it the whole request would stay until a cycle is looked for.
            self.waiting.clear()
        return self.answer()

    def answer(self) -> ProduceResponse | None:
        if self.acks == 0:
            if self.has_failed:
                raise CloseConnection("a batch sent with acks=0 was refused; closing is the only way to say so")
            return None
        return self.response()

    def response(self) -> ProduceResponse:
        """What is known so far, with where to find other leaders."""
        if not self.hinted_leaders:
            return ProduceResponse(responses=self.responses)
        endpoints = [
            NodeEndpoint(node_id=broker.id, host=listener.host, port=listener.port, rack=broker.rack)
            for broker, listener in leader_endpoints(self.context, self.hinted_leaders)
        ]
        return ProduceResponse(responses=self.responses, node_endpoints=endpoints)


def _check_codec(header: BatchHeader) -> None:
    if header.codec is Codec.ZSTD:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce version {_ZSTD_VERSION} or later")
