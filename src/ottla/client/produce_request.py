"""Ready record batches to the brokers that lead their partitions: the Produce API."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.client.addresses import Address
from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of
from ottla.client.fanout import by_topic
from ottla.client.metadata import Node
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.produce_response import NodeEndpoint, PartitionProduceResponse, ProduceResponse
from ottla.protocol.schema import Records
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import ZERO_UUID

_NAMES_VERSION_MAX = 12
# From version 12 on the broker adds the partition to the transaction (KIP-890), if the cluster has the feature.
_EXPLICIT_TRANSACTION_VERSION_MAX = 11
_IMPLICIT_TRANSACTION_FEATURE = 2


@dataclass(frozen=True, slots=True)
class Produced:
    """Where a batch went; -1 where the broker does not say, as with acks=0 or timestamps of the producer's own."""

    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error: KafkaError | None = None


async def produce(
    cluster: Cluster,
    connection: Connection,
    batches: Mapping[TopicPartition, Records],
    *,
    acks: int,
    transactional_id: str | None = None,
    is_added: bool | None = None,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, Produced]:
    """Send one batch for each partition, all led by the broker at the other end; notes the leaders that it names.

    `is_added` says whether the partitions were added to the transaction before; None lets the broker's features decide.
    """
    timeout_ms = cluster.settings.request_timeout_ms if timeout_ms is None else timeout_ms
    if is_added is None:
        is_added = not adds_partitions_itself(connection)
    version, ids = _version_and_ids(cluster, connection, batches, is_explicit=is_added and transactional_id is not None)
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=int(timeout_ms),
        topic_data=[
            TopicProduceData(
                name=topic,
                topic_id=ids[topic],
                partition_data=[
                    PartitionProduceData(index=number, records=batches[TopicPartition(topic, number)])
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(batches).items()
        ],
    )
    if acks == 0:
        await connection.send(request, version=version)
        return dict.fromkeys(batches, Produced())
    response = await connection.request(request, ProduceResponse, version=version, timeout_ms=timeout_ms)
    names = {topic_id: topic for topic, topic_id in ids.items()}
    results: dict[TopicPartition, Produced] = {}
    for topic in response.responses:
        name = names.get(topic.topic_id, "") if version > _NAMES_VERSION_MAX else topic.name
        for row in topic.partition_responses:
            partition = TopicPartition(name, row.index)
            results[partition] = Produced(row.base_offset, row.log_append_time_ms, row.log_start_offset, _error(row))
            if row.current_leader is not None:
                nodes = list(map(_node, response.node_endpoints))
                leader = row.current_leader
                cluster.metadata.hint_leader(partition, leader.leader_id, leader.leader_epoch, nodes)
    missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker did not answer for this partition")
    return {partition: results.get(partition, Produced(error=missing)) for partition in batches}


def _version_and_ids(
    cluster: Cluster, connection: Connection, batches: Mapping[TopicPartition, Records], *, is_explicit: bool
) -> tuple[int, dict[str, bytes]]:
    ids = {topic: cluster.metadata.topic_id(topic) for topic, _ in batches}
    highest = _NAMES_VERSION_MAX if ZERO_UUID in ids.values() else 32767
    if is_explicit:
        highest = _EXPLICIT_TRANSACTION_VERSION_MAX
    return connection.version_of(ProduceRequest, highest=highest), ids


def adds_partitions_itself(connection: Connection) -> bool:
    """Whether the cluster runs transactions by part 2 of KIP-890, as far as the broker at the other end knows."""
    return connection.versions.level("transaction.version") >= _IMPLICIT_TRANSACTION_FEATURE


def _error(row: PartitionProduceResponse) -> KafkaError | None:
    whole = row.error_message or ""
    # Brokers repeat the reason of the first record in the message for the whole batch.
    details = {
        record.batch_index_error_message: None
        for record in row.record_errors
        if record.batch_index_error_message and record.batch_index_error_message not in whole
    }
    message = "; ".join(filter(None, [whole, *list(details)[:3]])) or None
    return error_of(row.error_code, message)


def _node(row: NodeEndpoint) -> Node:
    return Node(row.node_id, Address(row.host, row.port), row.rack)
