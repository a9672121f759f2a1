"""The producers that partitions remember, and ending a transaction in one partition by force.

The messages are imported by the calls: most clients never make one of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.client.admin.base import AdminCalls
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of
from ottla.client.fanout import ask_leaders, by_topic
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.protocol.messages.describe_producers_response import ProducerState

NO_OFFSET = -1


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """A producer that a partition remembers; -1 as transaction start means that none is open."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int

    @property
    def has_open_transaction(self) -> bool:
        return self.transaction_start_offset != NO_OFFSET


@dataclass(frozen=True, slots=True)
class PartitionProducers:
    """The producers of one partition."""

    producers: tuple[ActiveProducer, ...] = ()
    error: KafkaError | None = None


class ProducerCalls(AdminCalls):
    """The calls about producers."""

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducers]:
        """The producers that partitions remember, as their leaders or one broker with their replicas tell."""
        wanted = list(partitions)
        if not wanted:
            return {}
        answers: dict[TopicPartition, PartitionProducers | KafkaError] = {}
        if broker_id is None:
            answers = await ask_leaders(self._cluster, wanted, _describe)
        else:

            async def ask(connection: Connection) -> dict[TopicPartition, PartitionProducers | KafkaError]:
                return await _describe(connection, wanted)

            answers = await self._at_node(broker_id, f"describing producers at broker {broker_id}", ask)
        return {
            partition: PartitionProducers(error=answer) if isinstance(answer, KafkaError) else answer
            for partition, answer in answers.items()
        }

    async def abort_transaction(
        self, partition: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        """End a hanging transaction: write an abort marker into one partition, whatever the coordinator knows."""
        from ottla.protocol.messages.write_txn_markers_request import (
            WritableTxnMarker,
            WritableTxnMarkerTopic,
            WriteTxnMarkersRequest,
        )
        from ottla.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            transaction_result=False,
            topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
        )

        async def ask(connection: Connection, _: list[TopicPartition]) -> dict[TopicPartition, KafkaError | None]:
            response = await connection.request(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
            return {
                TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
                for answered in response.markers
                for topic in answered.topics
                for row in topic.partitions
            }

        error = (await ask_leaders(self._cluster, [partition], ask))[partition]
        if error is not None:
            raise KafkaError(error.code, f"no marker was written to {partition}: {error.message}")


async def _describe(
    connection: Connection, wanted: list[TopicPartition]
) -> dict[TopicPartition, PartitionProducers | KafkaError]:
    from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
    from ottla.protocol.messages.describe_producers_response import DescribeProducersResponse

    topics = [TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(wanted).items()]
    response = await connection.request(DescribeProducersRequest(topics=topics), DescribeProducersResponse)
    return {
        TopicPartition(topic.name, row.partition_index): error_of(row.error_code, row.error_message)
        or PartitionProducers(tuple(map(_producer, row.active_producers)))
        for topic in response.topics
        for row in topic.partitions
    }


def _producer(state: "ProducerState") -> ActiveProducer:
    return ActiveProducer(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset,
    )
