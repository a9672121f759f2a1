"""A transaction's requests to its partitions, sent as bare frames: records and markers, for several of them at once.

What a coordinator is asked is in `transaction_wire`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.wire import WireClient
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

NOW_MS = 1_700_000_000_000
TOPIC_IDS_SINCE = 13


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
    """A batch of a transaction that says the same several times."""
    return batch_of_producer(producer, sequence, [value] * count, timestamp_ms=timestamp_ms)


def batch_of_producer(
    producer: tuple[int, int],
    sequence: int,
    values: Sequence[bytes],
    *,
    is_transactional: bool = True,
    timestamp_ms: int = NOW_MS,
) -> bytes:
    """A batch with a producer's id and epoch."""
    builder = BatchBuilder(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, is_transactional=is_transactional
    )
    for value in values:
        builder.append(b"k", value, timestamp_ms=timestamp_ms)
    return bytes(builder.build())
