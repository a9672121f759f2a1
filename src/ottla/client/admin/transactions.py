"""Transactions as their coordinators know them, and those that no coordinator knows of any more.

A transaction hangs when a partition holds it open and its coordinator will never end it there: readers of committed
records wait behind it for ever, and compaction stops. It is found by comparing what partitions remember with what
coordinators know, and ended with `abort_transaction`.

The messages are imported by the calls: most clients never make one of them.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.client.admin.base import raise_if_moved
from ottla.client.admin.producers import ActiveProducer, ProducerCalls
from ottla.client.cluster import CoordinatorKind
from ottla.client.connection import Connection
from ottla.client.errors import ClientError, KafkaError, error_of
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.client.producer_ids import ProducerIdentity

NO_TIME_MS = -1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """A transactional id as its coordinator lists it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id and its transaction; one that is not open has no start (-1) and no partitions."""

    transactional_id: str
    state: str = ""
    producer_id: int = -1
    producer_epoch: int = -1
    timeout_ms: int = -1
    start_ms: int = NO_TIME_MS
    partitions: tuple[TopicPartition, ...] = ()
    coordinator_id: int = -1
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """An open transaction of a partition that no coordinator is going to end."""

    partition: TopicPartition
    producer: ActiveProducer
    transactional_id: str | None = None


class TransactionCalls(ProducerCalls):
    """The calls about transactions."""

    async def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int | None = None,
        id_pattern: str | None = None,
    ) -> tuple[TransactionListing, ...]:
        """All transactional ids of all coordinators, or those that fit: the pattern is RE2's, for whole ids."""
        from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest
        from ottla.protocol.messages.list_transactions_response import ListTransactionsResponse

        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=-1 if longer_than_ms is None else longer_than_ms,
            transactional_id_pattern=id_pattern,
        )
        # A broker that does not know a filter would list everything.
        lowest = 2 if id_pattern is not None else 1 if longer_than_ms is not None else 0

        async def list_at(node_id: int) -> list[TransactionListing]:
            async def ask(connection: Connection) -> list[TransactionListing]:
                version = connection.version_of(ListTransactionsRequest, lowest=lowest)
                response = await connection.request(request, ListTransactionsResponse, version=version)
                if error := error_of(response.error_code):
                    raise _explain(error, id_pattern)
                return [
                    TransactionListing(row.transactional_id, row.producer_id, row.transaction_state, node_id)
                    for row in response.transaction_states
                ]

            return await self._at_node(node_id, "listing transactions", ask)

        lists = await asyncio.gather(*(list_at(node_id) for node_id in await self._all_nodes()))
        return tuple(sorted((row for rows in lists for row in rows), key=lambda row: row.transactional_id))

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """Transactional ids; one that does not exist has the error TRANSACTIONAL_ID_NOT_FOUND."""
        ids = list(dict.fromkeys(transactional_ids))
        return dict(zip(ids, await asyncio.gather(*map(self._describe_transaction, ids)), strict=True))

    async def _describe_transaction(self, transactional_id: str) -> TransactionDescription:
        from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
        from ottla.protocol.messages.describe_transactions_response import DescribeTransactionsResponse

        async def ask(connection: Connection) -> TransactionDescription:
            request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            response = await connection.request(request, DescribeTransactionsResponse)
            row = response.transaction_states[0]
            error = error_of(row.error_code)
            raise_if_moved(error)
            coordinator = await self._cluster.coordinator(transactional_id, CoordinatorKind.TRANSACTION)
            return TransactionDescription(
                transactional_id,
                row.transaction_state,
                row.producer_id,
                row.producer_epoch,
                row.transaction_timeout_ms,
                row.transaction_start_time_ms,
                tuple(TopicPartition(topic.topic, number) for topic in row.topics for number in topic.partitions),
                coordinator.node_id,
                error,
            )

        try:
            what = f"describing the transaction of {transactional_id!r}"
            return await self._at_coordinator(transactional_id, what, ask, kind=CoordinatorKind.TRANSACTION)
        except KafkaError as error:
            return TransactionDescription(transactional_id, error=error)

    async def fence_producers(self, transactional_ids: Iterable[str]) -> "dict[str, ProducerIdentity | ClientError]":
        """Fence the producers of these ids: they can write no more, and their open transactions are aborted."""
        from ottla.client.producer_ids import init_producer_id

        async def fence(transactional_id: str) -> "ProducerIdentity | ClientError":
            try:
                return await init_producer_id(self._cluster, transactional_id)
            except ClientError as error:
                return error

        ids = list(dict.fromkeys(transactional_ids))
        return dict(zip(ids, await asyncio.gather(*map(fence, ids)), strict=True))

    async def find_hanging_transactions(
        self,
        partitions: Iterable[TopicPartition],
        *,
        now_ms: int,
        max_transaction_timeout_ms: int = 900_000,
        broker_id: int | None = None,
    ) -> tuple[HangingTransaction, ...]:
        """Find open transactions that no coordinator knows, and that are older than a transaction may be."""
        found = await self.describe_producers(partitions, broker_id=broker_id)
        candidates: list[tuple[TopicPartition, ActiveProducer]] = []
        for partition, described in found.items():
            if described.error is not None:
                raise KafkaError(described.error.code, f"{partition}: {described.error.message}")
            candidates += [
                (partition, producer)
                for producer in described.producers
                if producer.has_open_transaction and now_ms - producer.last_timestamp_ms > max_transaction_timeout_ms
            ]
        if not candidates:
            return ()
        producer_ids = sorted({producer.producer_id for _, producer in candidates})
        listed = await self.list_transactions(producer_ids=producer_ids)
        ids = {row.producer_id: row.transactional_id for row in listed}
        known = await self.describe_transactions(ids.values())
        return tuple(
            HangingTransaction(partition, producer, ids.get(producer.producer_id))
            for partition, producer in sorted(candidates, key=lambda found: (found[0], found[1].producer_id))
            if not _will_end(known.get(ids.get(producer.producer_id, "")), partition)
        )


def _will_end(description: TransactionDescription | None, partition: TopicPartition) -> bool:
    """Whether the coordinator has the partition among those where it will write a marker."""
    if description is None:
        return False
    if description.error is not None and description.error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise description.error
    return partition in description.partitions


def _explain(error: KafkaError, id_pattern: str | None) -> KafkaError:
    if error.code is ErrorCode.INVALID_REGULAR_EXPRESSION:
        return KafkaError(error.code, f"{id_pattern!r} is not a regular expression that the broker understands (RE2)")
    return error
