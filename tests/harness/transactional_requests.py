"""The few requests that a transaction needs, sent as bare frames: for tests of what a partition makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.wire import WireClient
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

NOW_MS = 1_700_000_000_000
TOPIC_IDS_SINCE = 13
# From this version on EndTxn tells the epoch of the next transaction.
NEXT_EPOCH_SINCE = 5
_TRANSACTION_KEY = 1


@dataclass
class Requests:
    """A connection, and the ids of the topics that were made through it."""

    client: WireClient
    topic_ids: dict[str, bytes] = field(default_factory=dict)

    async def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        settings = [CreatableTopicConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
        row = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1, configs=settings)
        (created,) = (await self.client.call(CreateTopicsRequest(topics=[row], timeout_ms=10_000))).topics
        assert created.error_code == 0
        self.topic_ids[topic] = created.topic_id

    async def init(self, transactional_id: str) -> tuple[int, int]:
        """A producer's id and epoch."""
        await self.client.call(FindCoordinatorRequest(key_type=_TRANSACTION_KEY, coordinator_keys=[transactional_id]))
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        answer = await self.client.call(request, 5)
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    def produce_request(
        self, transactional_id: str | None, batches: dict[tuple[str, int], bytes], version: int = 13, acks: int = -1
    ) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, index), batch in batches.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=index, records=batch))
        by_id = version >= TOPIC_IDS_SINCE
        data = [
            TopicProduceData(
                name="" if by_id else topic, topic_id=self.topic_ids[topic] if by_id else bytes(16), partition_data=rows
            )
            for topic, rows in topics.items()
        ]
        return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=10_000, topic_data=data)

    async def produce(
        self, transactional_id: str | None, batches: dict[tuple[str, int], bytes], version: int = 13
    ) -> list[tuple[ErrorCode, int]]:
        """Error and base offset of each partition, in the order of the request."""
        request = self.produce_request(transactional_id, batches, version)
        answer = await self.client.call(request, version)
        return [
            (ErrorCode(row.error_code), row.base_offset)
            for topic in answer.responses
            for row in topic.partition_responses
        ]

    async def add(self, transactional_id: str, producer: tuple[int, int], topic: str, indexes: Sequence[int]) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=indexes)],
        )
        (answered,) = (await self.client.call(request, 3)).results_by_topic_v3_and_below
        assert all(row.partition_error_code == 0 for row in answered.results_by_partition)

    async def end(
        self, transactional_id: str, producer: tuple[int, int], *, is_commit: bool, version: int = 5
    ) -> tuple[int, int]:
        """The producer of the next transaction."""
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=is_commit,
        )
        answer = await self.client.call(request, version)
        assert answer.error_code == 0
        return (answer.producer_id, answer.producer_epoch) if version >= NEXT_EPOCH_SINCE else producer

    async def mark(self, *markers: WritableTxnMarker, version: int = 2) -> list[list[tuple[str, int, ErrorCode]]]:
        """Per marker: topic, partition and error."""
        answer: Any = await self.client.call(WriteTxnMarkersRequest(markers=markers), version)
        return [
            [
                (topic.name, row.partition_index, ErrorCode(row.error_code))
                for topic in marker.topics
                for row in topic.partitions
            ]
            for marker in answer.markers
        ]


def marker(
    producer: tuple[int, int],
    partitions: dict[str, Sequence[int]],
    *,
    is_commit: bool = True,
    coordinator_epoch: int = 0,
    transaction_version: int = 2,
) -> WritableTxnMarker:
    """A marker as a coordinator sends it."""
    return WritableTxnMarker(
        producer_id=producer[0],
        producer_epoch=producer[1],
        transaction_result=is_commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in partitions.items()],
    )


def transactional_batch(
    producer: tuple[int, int], sequence: int, value: bytes = b"v", count: int = 1, timestamp_ms: int = NOW_MS
) -> bytes:
    """A batch of a transaction."""
    builder = BatchBuilder(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, is_transactional=True
    )
    for _ in range(count):
        builder.append(b"k", value, timestamp_ms=timestamp_ms)
    return bytes(builder.build())
