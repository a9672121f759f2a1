"""The requests of a transaction's owner to coordinators, each repeated until it gets a final answer.

There are two protocols. With `transaction.version` 2 (KIP-890, part 2) brokers add partitions and groups to the
transaction themselves, and the end of a transaction brings the epoch of the next one. Before that, the owner has to add
each of them first.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of, raise_for
from ottla.client.fanout import by_topic
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.producer_ids import ProducerIdentity
from ottla.client.retries import RetryPolicy
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from ottla.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.end_txn_response import EndTxnResponse
from ottla.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from ottla.protocol.topic_partition import TopicPartition

T = TypeVar("T")

# The last versions of the older protocol. Later ones of AddPartitionsToTxn are for brokers only.
_ADD_PARTITIONS_VERSION_MAX: Final = 3
_OFFSETS_VERSION_MAX: Final = 4
_END_VERSION_MAX: Final = 4
# Before this version offsets carry no generation of the member, and could not be fenced.
_MEMBERSHIP_VERSION_MIN: Final = 3

# The transaction before this one is finished within milliseconds: a full back-off would be most of the wait.
QUICK_RETRY: Final = RetryPolicy(initial_ms=20.0)


@dataclass(frozen=True, slots=True)
class TransactionRequests:
    """The requests about one transactional id."""

    cluster: Cluster
    transactional_id: str
    timeout_ms: float

    async def add_partitions(self, identity: ProducerIdentity, partitions: Collection[TopicPartition]) -> None:
        """Only in the older protocol: before the first record goes to a partition."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in by_topic(partitions).items()
            ],
        )

        async def ask(connection: Connection) -> None:
            version = connection.version_of(AddPartitionsToTxnRequest, highest=_ADD_PARTITIONS_VERSION_MAX)
            response = await connection.request(request, AddPartitionsToTxnResponse, version=version)
            _raise_worst(
                _name_error(TopicPartition(topic.name, row.partition_index), row.partition_error_code)
                for topic in response.results_by_topic_v3_and_below
                for row in topic.results_by_partition
            )

        await self._at_coordinator("adding partitions to a transaction", ask)

    async def add_group(self, identity: ProducerIdentity, group_id: str) -> None:
        """Only in the older protocol: before the first offsets of a group."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            group_id=group_id,
        )

        async def ask(connection: Connection) -> None:
            response = await connection.request(request, AddOffsetsToTxnResponse)
            raise_for(response.error_code)

        await self._at_coordinator(f"adding group {group_id!r} to a transaction", ask)

    async def commit_offsets(
        self,
        identity: ProducerIdentity,
        offsets: Mapping[TopicPartition, CommittedOffset],
        group: GroupMetadata,
        *,
        is_added: bool,
    ) -> None:
        """Hand offsets to the group's coordinator, where they wait for the end of the transaction."""
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group.group_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            generation_id=group.membership.generation,
            member_id=group.membership.member_id,
            group_instance_id=group.membership.instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[_offset_row(number, offsets[TopicPartition(topic, number)]) for number in numbers],
                )
                for topic, numbers in by_topic(offsets).items()
            ],
        )

        async def ask() -> None:
            connection = await self.cluster.coordinator_connection(group.group_id)
            bounds = {"highest": _OFFSETS_VERSION_MAX} if is_added else {"lowest": _OFFSETS_VERSION_MAX + 1}
            if is_added and group.membership.member_id:
                bounds["lowest"] = _MEMBERSHIP_VERSION_MIN
            version = connection.version_of(TxnOffsetCommitRequest, **bounds)
            response = await connection.request(request, TxnOffsetCommitResponse, version=version)
            _raise_worst(
                _name_error(TopicPartition(topic.name, row.partition_index), row.error_code)
                for topic in response.topics
                for row in topic.partitions
            )

        await self.cluster.retry(
            ask,
            what=f"committing offsets of group {group.group_id!r} in a transaction",
            timeout_ms=self.timeout_ms,
            coordinates=group.group_id,
            policy=QUICK_RETRY,
        )

    async def end(self, identity: ProducerIdentity, *, is_commit: bool, is_v2: bool) -> ProducerIdentity:
        """Commit or abort; returns the identity for the next transaction. It may be repeated."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=is_commit,
        )

        async def ask(connection: Connection) -> ProducerIdentity:
            bounds = {"lowest": _END_VERSION_MAX + 1} if is_v2 else {"highest": _END_VERSION_MAX}
            version = connection.version_of(EndTxnRequest, **bounds)
            response = await connection.request(request, EndTxnResponse, version=version)
            raise_for(response.error_code)
            return ProducerIdentity(response.producer_id, response.producer_epoch) if is_v2 else identity

        return await self._at_coordinator(f"{'committing' if is_commit else 'aborting'} a transaction", ask)

    async def _at_coordinator(self, what: str, ask: Callable[[Connection], Awaitable[T]]) -> T:
        async def attempt() -> T:
            connection = await self.cluster.coordinator_connection(self.transactional_id, CoordinatorKind.TRANSACTION)
            return await ask(connection)

        return await self.cluster.retry(
            attempt,
            what=what,
            timeout_ms=self.timeout_ms,
            coordinates=self.transactional_id,
            kind=CoordinatorKind.TRANSACTION,
            policy=QUICK_RETRY,
        )


def _raise_worst(errors: Iterable[KafkaError | None]) -> None:
    """Raise one error for the whole request: one that no retry helps, if there is one.

    A partition that was not attempted is never the reason: the error of another one is.
    """
    found = [error for error in errors if error is not None]
    if found:
        raise min(found, key=lambda error: (error.code is ErrorCode.OPERATION_NOT_ATTEMPTED, error.is_retriable))


def _name_error(partition: TopicPartition, error_code: int) -> KafkaError | None:
    error = error_of(error_code)
    return None if error is None else KafkaError(error.code, f"{partition}: {error.message}")


def _offset_row(number: int, offset: CommittedOffset) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
