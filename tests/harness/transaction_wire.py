"""Transactions spoken request by request, for one partition each, in any version and any state, well-behaved or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.transactional_requests import TOPIC_IDS_SINCE, Requests, batch_of_producer, marker
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import add_partitions_to_txn_request as adding
from ottla.protocol.messages import offset_commit_request as committing
from ottla.protocol.messages import txn_offset_commit_request as offsets
from ottla.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic

NEW_PROTOCOL_PRODUCE = 12
NEW_PROTOCOL_END = 5
LAST_EPOCH = 32_767
NOT_YET = {"COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"}


def name_of(code: int) -> str:
    return ErrorCode(code).name


@dataclass(frozen=True, slots=True)
class Identity:
    """Who writes: an id, and the producer id and epoch that the coordinator gave it."""

    transactional_id: str
    producer_id: int
    epoch: int

    @property
    def producer(self) -> tuple[int, int]:
        return self.producer_id, self.epoch

    def with_epoch(self, epoch: int) -> Identity:
        return replace(self, epoch=epoch)


class TransactionWire:
    """One connection. Each call is one request; the answer is the error's name, unless it says otherwise."""

    def __init__(self, client: WireClient) -> None:
        self.client = client
        self._partitions = Requests(client)

    async def init(
        self,
        transactional_id: str | None,
        version: int = 5,
        *,
        current: Identity | None = None,
        timeout_ms: int = 60_000,
    ) -> tuple[str, Identity]:
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)
        if current is not None:
            request.producer_id, request.producer_epoch = current.producer_id, current.epoch
        answer = await self.client.call(request, version)
        identity = Identity(transactional_id or "", answer.producer_id, answer.producer_epoch)
        return name_of(answer.error_code), identity

    async def exhaust_epochs(self, transactional_id: str, epoch: int) -> None:
        """Brings an id from epoch 0 to this one: every start takes one."""
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        left = epoch
        while left:
            in_flight = min(500, left)
            for correlation_id in [self.client.send(request, 5) for _ in range(in_flight)]:
                answer = await self.client.receive(InitProducerIdRequest, 5, correlation_id)
                assert name_of(answer.error_code) == "NONE"
            left -= in_flight
        assert answer.producer_epoch == epoch

    async def find_coordinator(self, key: str, version: int, *, key_type: int = 1) -> str:
        request = FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key] if version >= 4 else ())
        answer = await self.client.call(request, version)
        return name_of(answer.error_code if version < 4 else answer.coordinators[0].error_code)

    async def prepare_coordinator(self, transactional_id: str) -> None:
        """Waits until the id's coordinator answers: asking for it is what creates its topic."""

        async def answer() -> str:
            await self.find_coordinator(transactional_id, 4)
            return await self.state(transactional_id)

        await eventually_async(answer, lambda state: state not in NOT_YET)

    async def prepare_group(self, group: str, topic: str) -> None:
        """The same for a group's coordinator; gives the group the offset 0."""
        part = committing.OffsetCommitRequestPartition(committed_offset=0, committed_metadata="")
        topics = [committing.OffsetCommitRequestTopic(name=topic, partitions=[part])]
        request = committing.OffsetCommitRequest(group_id=group, topics=topics)

        async def answer() -> str:
            await self.find_coordinator(group, 4, key_type=0)
            return name_of((await self.client.call(request, 8)).topics[0].partitions[0].error_code)

        await eventually_async(answer, lambda error: error == "NONE")

    async def start(self, transactional_id: str, *, timeout_ms: int = 60_000) -> Identity:
        """A producer that may begin, as clients do it: they ask again while an earlier transaction is being ended."""
        await self.prepare_coordinator(transactional_id)
        error, identity = await eventually_async(
            lambda: self.init(transactional_id, timeout_ms=timeout_ms),
            # A server that has just started may not have producer ids to give yet.
            lambda answer: answer[0] not in {"CONCURRENT_TRANSACTIONS", *NOT_YET},
        )
        assert error == "NONE", error
        return identity

    async def add_partitions(self, identity: Identity, version: int, topic: str, *partitions: int) -> str:
        """Versions 0 to 3, which clients use; the first partition's error."""
        topics = [adding.AddPartitionsToTxnTopic(name=topic, partitions=partitions)]
        request = adding.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=identity.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=topics,
        )
        answer = await self.client.call(request, version)
        return name_of(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    async def add_or_verify(
        self, identity: Identity, version: int, topic: str, *partitions: int, verify_only: bool
    ) -> str:
        """Versions 4 and up, which brokers use; the error of the request, else of the first partition."""
        transaction = adding.AddPartitionsToTxnTransaction(
            transactional_id=identity.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            verify_only=verify_only,
            topics=[adding.AddPartitionsToTxnTopic(name=topic, partitions=partitions)],
        )
        answer = await self.client.call(adding.AddPartitionsToTxnRequest(transactions=[transaction]), version)
        if answer.error_code:
            return name_of(answer.error_code)
        [result] = answer.results_by_transaction
        return name_of(result.topic_results[0].results_by_partition[0].partition_error_code)

    async def add_offsets(self, identity: Identity, version: int, group: str) -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=identity.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group,
        )
        return name_of((await self.client.call(request, version)).error_code)

    async def commit_offset(
        self,
        identity: Identity,
        version: int,
        group: str,
        topic: str,
        offset: int,
        *,
        generation: int = -1,
        member_id: str = "",
        metadata: str = "",
    ) -> str:
        part = offsets.TxnOffsetCommitRequestPartition(committed_offset=offset, committed_metadata=metadata)
        request = offsets.TxnOffsetCommitRequest(
            transactional_id=identity.transactional_id,
            group_id=group,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            topics=[offsets.TxnOffsetCommitRequestTopic(name=topic, partitions=[part])],
        )
        request.generation_id, request.member_id = generation, member_id
        answer = await self.client.call(request, version)
        return name_of(answer.topics[0].partitions[0].error_code)

    async def end(self, identity: Identity, version: int, *, commit: bool) -> tuple[str, Identity]:
        """The error, and who writes next: from version 5 on the answer says it."""
        answer = await self.client.call(end_request(identity, commit=commit), version)
        if version < NEW_PROTOCOL_END or answer.error_code:
            return name_of(answer.error_code), identity
        return "NONE", Identity(identity.transactional_id, answer.producer_id, answer.producer_epoch)

    async def produce(
        self,
        identity: Identity,
        version: int,
        topic: str,
        partition: int,
        sequence: int,
        *values: bytes,
        names_id: bool = True,
        is_transactional: bool = True,
    ) -> str:
        records = batch_of_producer(identity.producer, sequence, values or (b"x",), is_transactional=is_transactional)
        if version >= TOPIC_IDS_SINCE:
            await self._learn_topic_id(topic)
        transactional_id = identity.transactional_id if names_id else None
        batches = {(topic, partition): records}
        ((error, _),) = await self._partitions.produce(transactional_id, batches, version)
        return error.name

    async def write(
        self, identity: Identity, topic: str, partition: int, sequence: int, *values: bytes, version: int = 12
    ) -> None:
        """Produces into the transaction, as often as clients do: others that begin at once may stand in the way."""
        error = await eventually_async(
            lambda: self.produce(identity, version, topic, partition, sequence, *values),
            lambda error: error not in {"NOT_ENOUGH_REPLICAS", "CONCURRENT_TRANSACTIONS"},
        )
        assert error == "NONE", error

    async def mark(
        self,
        identity: Identity,
        version: int,
        topic: str,
        *partitions: int,
        commit: bool,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> list[str]:
        one = marker(
            identity.producer,
            {topic: partitions},
            is_commit=commit,
            coordinator_epoch=coordinator_epoch,
            transaction_version=transaction_version,
        )
        (rows,) = await self._partitions.mark(one, version=version)
        return [error.name for _, _, error in rows]

    async def describe(self, transactional_id: str) -> Any:
        answer = await self.client.call(DescribeTransactionsRequest(transactional_ids=[transactional_id]))
        return answer.transaction_states[0]

    async def state(self, transactional_id: str) -> str:
        """The transaction's state, or the error where there is none."""
        found = await self.describe(transactional_id)
        return name_of(found.error_code) if found.error_code else str(found.transaction_state)

    async def wait_for(self, transactional_id: str, state: str) -> None:
        await eventually_async(lambda: self.state(transactional_id), lambda found: found == state)

    async def _learn_topic_id(self, topic: str) -> None:
        known = self._partitions.topic_ids
        if topic not in known:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
            known[topic] = (await self.client.call(request, 12)).topics[0].topic_id


def end_request(identity: Identity, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=identity.transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        committed=commit,
    )
