"""The cluster and its brokers: who is there, what each serves, the metadata quorum, and disks."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ottla.client.addresses import Address
from ottla.client.admin.base import AdminCalls
from ottla.client.api_versions import BrokerVersions, FeatureLevel
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of, raise_for
from ottla.client.fanout import by_topic
from ottla.client.metadata import Node
from ottla.protocol.messages import describe_quorum_response as quorum
from ottla.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterResponse
from ottla.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from ottla.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from ottla.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from ottla.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from ottla.protocol.topic_partition import TopicPartition

METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A broker; a fenced one is registered but does not serve."""

    node_id: int
    address: Address
    rack: str | None = None
    is_fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster; the controller's id is that of a broker that accepts changes."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerDescription, ...]


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or observer of the metadata quorum; -1 stands for times that are not known."""

    replica_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The metadata quorum as its leader sees it."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: Mapping[int, Mapping[str, Address]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplicaOnDisk:
    """A replica in a log directory; a future one is being moved there."""

    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """A log directory of a broker; the sizes of the disk are -1 if the broker is too old to say."""

    path: str
    replicas: Mapping[TopicPartition, ReplicaOnDisk] = field(default_factory=dict)
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False
    error: KafkaError | None = None


class BrokerCalls(AdminCalls):
    """The calls about the cluster and its brokers."""

    async def describe_cluster(self, *, include_fenced: bool = False) -> ClusterDescription:
        """The cluster and its brokers."""

        async def ask(connection: Connection) -> ClusterDescription:
            version = connection.version_of(DescribeClusterRequest, lowest=2 if include_fenced else 0)
            request = DescribeClusterRequest(include_fenced_brokers=include_fenced)
            response = await connection.request(request, DescribeClusterResponse, version=version)
            raise_for(response.error_code, response.error_message)
            brokers = (
                BrokerDescription(row.broker_id, Address(row.host, row.port), row.rack, row.is_fenced)
                for row in response.brokers
            )
            in_order = tuple(sorted(brokers, key=lambda broker: broker.node_id))
            return ClusterDescription(response.cluster_id, response.controller_id, in_order)

        return await self._at_any("describing the cluster", ask)

    async def describe_quorum(self) -> QuorumDescription:
        """The metadata quorum."""

        async def ask(connection: Connection) -> QuorumDescription:
            topic = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
            response = await connection.request(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
            raise_for(response.error_code, response.error_message)
            row = response.topics[0].partitions[0]
            raise_for(row.error_code, row.error_message)
            nodes = {
                node.node_id: {listener.name: Address(listener.host, listener.port) for listener in node.listeners}
                for node in response.nodes
            }
            return QuorumDescription(
                row.leader_id,
                row.leader_epoch,
                row.high_watermark,
                tuple(map(_quorum_replica, row.current_voters)),
                tuple(map(_quorum_replica, row.observers)),
                nodes,
            )

        return await self._at_any("describing the metadata quorum", ask)

    async def describe_features(self) -> tuple[FeatureLevel, ...]:
        """The cluster's features: what is supported, and which level is in force."""

        async def ask(connection: Connection) -> tuple[FeatureLevel, ...]:
            return connection.versions.features

        return await self._at_any("describing features", ask)

    async def broker_versions(self) -> dict[Node, BrokerVersions | KafkaError]:
        """The APIs that each broker serves, in which versions."""

        async def of(node_id: int) -> BrokerVersions | KafkaError:
            async def ask(connection: Connection) -> BrokerVersions:
                return connection.versions

            try:
                return await self._at_node(node_id, "asking for API versions", ask)
            except KafkaError as error:
                return error

        ids = await self._all_nodes()
        nodes = [self._cluster.metadata.nodes[node_id] for node_id in ids]
        return dict(zip(nodes, await asyncio.gather(*map(of, ids)), strict=True))

    async def describe_log_dirs(
        self, broker_ids: Iterable[int] | None = None, *, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[int, tuple[LogDirDescription, ...]]:
        """The log directories of brokers, of all or some, with all or some of their replicas."""
        ids = list(broker_ids) if broker_ids is not None else await self._all_nodes()
        topics = None
        if partitions is not None:
            topics = [
                DescribableLogDirTopic(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(partitions).items()
            ]

        async def of(node_id: int) -> tuple[LogDirDescription, ...]:
            async def ask(connection: Connection) -> tuple[LogDirDescription, ...]:
                response = await connection.request(DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse)
                raise_for(response.error_code)
                return tuple(map(_log_dir, response.results))

            return await self._at_node(node_id, f"describing the log directories of broker {node_id}", ask)

        return dict(zip(ids, await asyncio.gather(*map(of, ids)), strict=True))

    async def alter_replica_log_dirs(
        self, moves: Mapping[TopicPartition, str], *, broker_id: int
    ) -> dict[TopicPartition, KafkaError | None]:
        """Move a broker's replicas to other directories of its own; returns the error of each."""
        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in moves.items():
            by_path.setdefault(path, []).append(partition)
        dirs = [
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                    for topic, numbers in by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]

        async def ask(connection: Connection) -> dict[TopicPartition, KafkaError | None]:
            response = await connection.request(AlterReplicaLogDirsRequest(dirs=dirs), AlterReplicaLogDirsResponse)
            return {
                TopicPartition(topic.topic_name, row.partition_index): error_of(row.error_code)
                for topic in response.results
                for row in topic.partitions
            }

        return await self._at_node(broker_id, "moving replicas between log directories", ask)


def _quorum_replica(row: quorum.ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        row.replica_id,
        bytes(row.replica_directory_id),
        row.log_end_offset,
        row.last_fetch_timestamp,
        row.last_caught_up_timestamp,
    )


def _log_dir(row: DescribeLogDirsResult) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, replica.partition_index): ReplicaOnDisk(
            replica.partition_size, replica.offset_lag, replica.is_future_key
        )
        for topic in row.topics
        for replica in topic.partitions
    }
    return LogDirDescription(
        row.log_dir, replicas, row.total_bytes, row.usable_bytes, row.is_cordoned, error_of(row.error_code)
    )
