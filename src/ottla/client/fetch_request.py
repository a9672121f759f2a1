"""Whole record batches from the brokers that lead their partitions: the Fetch API, without fetch sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ottla.client.addresses import Address
from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import CorruptBatch, KafkaError, error_of, raise_for
from ottla.client.fanout import by_topic
from ottla.client.metadata import Node
from ottla.client.offsets import IsolationLevel
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.fetch_response import FetchResponse, NodeEndpoint, PartitionData
from ottla.protocol.record_batch import LOG_OVERHEAD_BYTES
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import ZERO_UUID

_NAMES_VERSION_MAX = 12
# How long an answer may take to arrive after the broker has stopped waiting for data.
_WAY_MS = 10_000.0
NO_REPLICA = -1


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """Readers must not see batches of this producer from this offset up to its abort marker."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class FetchedBatches:
    """Whole batches of one partition as the log holds them; the first may begin before the offset asked for.

    A leader that names a `preferred_read_replica` (KIP-392) has not read its log: an empty answer means nothing then.
    """

    batches: memoryview
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[AbortedTransaction, ...] = ()
    error: KafkaError | None = None
    preferred_read_replica: int = NO_REPLICA


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much a fetch may bring and how long it may wait; names in comments and defaults are Kafka's."""

    max_wait_ms: int = 500  # fetch.max.wait.ms
    min_bytes: int = 1  # fetch.min.bytes
    max_bytes: int = 52_428_800  # fetch.max.bytes
    partition_max_bytes: int = 1_048_576  # max.partition.fetch.bytes
    rack: str = ""  # client.rack


NOTHING = memoryview(b"")
DEFAULT_LIMITS = FetchLimits()


async def fetch(
    cluster: Cluster,
    connection: Connection,
    offsets: Mapping[TopicPartition, int],
    *,
    limits: FetchLimits = DEFAULT_LIMITS,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, FetchedBatches]:
    """Send one request to a broker that leads all these partitions; notes the leaders that it names instead."""
    ids = {topic: cluster.metadata.topic_id(topic) for topic, _ in offsets}
    highest = _NAMES_VERSION_MAX if ZERO_UUID in ids.values() else 32767
    version = connection.version_of(FetchRequest, highest=highest)
    request = FetchRequest(
        max_wait_ms=limits.max_wait_ms,
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        isolation_level=isolation,
        rack_id=limits.rack,
        topics=[
            FetchTopic(
                topic=topic,
                topic_id=ids[topic],
                partitions=[
                    _request_row(cluster, TopicPartition(topic, number), offsets, limits) for number in numbers
                ],
            )
            for topic, numbers in by_topic(offsets).items()
        ],
    )
    timeout_ms = max(cluster.settings.request_timeout_ms, limits.max_wait_ms + _WAY_MS)
    response = await connection.request(request, FetchResponse, version=version, timeout_ms=timeout_ms)
    raise_for(response.error_code)
    names = {topic_id: topic for topic, topic_id in ids.items()}
    results: dict[TopicPartition, FetchedBatches] = {}
    for topic in response.responses:
        name = names.get(topic.topic_id, "") if version > _NAMES_VERSION_MAX else topic.topic
        for row in topic.partitions:
            partition = TopicPartition(name, row.partition_index)
            if partition not in offsets:
                continue
            results[partition] = _read_row(row, partition, offsets[partition])
            _note_leader(cluster, partition, row, response.node_endpoints)
    missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker did not answer for this partition")
    return {partition: results.get(partition, FetchedBatches(NOTHING, error=missing)) for partition in offsets}


def whole_batches(records: memoryview) -> memoryview:
    """Drop a batch at the end that the size limit has cut."""
    position, end = 0, len(records)
    while end - position >= LOG_OVERHEAD_BYTES:
        size = int.from_bytes(records[position + 8 : position + 12], "big", signed=True) + LOG_OVERHEAD_BYTES
        if size <= LOG_OVERHEAD_BYTES or position + size > end:
            break
        position += size
    return records[:position]


def _request_row(
    cluster: Cluster, partition: TopicPartition, offsets: Mapping[TopicPartition, int], limits: FetchLimits
) -> FetchPartition:
    info = cluster.metadata.partition(partition)
    return FetchPartition(
        partition=partition.partition,
        current_leader_epoch=info.leader_epoch if info else -1,
        fetch_offset=offsets[partition],
        partition_max_bytes=limits.partition_max_bytes,
    )


def _read_row(row: PartitionData, partition: TopicPartition, offset: int) -> FetchedBatches:
    aborted = (AbortedTransaction(entry.producer_id, entry.first_offset) for entry in row.aborted_transactions or ())
    batches = whole_batches(memoryview(row.records)) if row.records else NOTHING
    error = _error(row, partition, offset)
    if row.records and not batches and error is None:
        # A broker sends the first batch whole, whatever the limits are (KIP-74): its length is wrong.
        reason = f"the {len(row.records)} bytes that the broker sent hold no whole batch, so its length is damaged"
        error = CorruptBatch(partition, offset, reason)
    return FetchedBatches(
        batches,
        row.high_watermark,
        row.last_stable_offset,
        row.log_start_offset,
        tuple(aborted),
        error,
        row.preferred_read_replica,
    )


def _error(row: PartitionData, partition: TopicPartition, offset: int) -> KafkaError | None:
    if row.error_code == ErrorCode.CORRUPT_MESSAGE:
        return CorruptBatch(partition, offset, "it is damaged in the broker's log, and the broker does not serve it")
    return error_of(row.error_code)


def _note_leader(
    cluster: Cluster, partition: TopicPartition, row: PartitionData, endpoints: Sequence[NodeEndpoint]
) -> None:
    if row.current_leader is not None:
        nodes = [Node(node.node_id, Address(node.host, node.port), node.rack) for node in endpoints]
        cluster.metadata.hint_leader(partition, row.current_leader.leader_id, row.current_leader.leader_epoch, nodes)
