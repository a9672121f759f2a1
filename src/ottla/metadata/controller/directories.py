"""AssignReplicasToDirs: a broker with several log directories tells where it keeps its replicas (KIP-858).

The controller must know, because a directory that fails takes the leaderships of its replicas with it, and no others.
A broker may also report a replica in a directory that is offline: then the replica leaves the in-sync set at once.
Each partition succeeds or fails alone.
"""

from __future__ import annotations

from dataclasses import replace

from ottla.metadata.controller.brokers import known_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partition_change import Wanted, change_partition
from ottla.metadata.decision import Decision
from ottla.metadata.image import NO_LEADER, BrokerImage, ClusterImage, PartitionState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from ottla.protocol.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition


def assign_replicas_to_dirs(
    image: ClusterImage, request: AssignReplicasToDirsRequest, *, rules: ElectionRules
) -> Decision[AssignReplicasToDirsResponse]:
    """ApiError STALE_BROKER_EPOCH for a request of an earlier life of the broker."""
    broker = known_broker(image, request.broker_id, request.broker_epoch)
    assignment = _Assignment(image, broker, rules)
    rows = [
        DirectoryData(
            id=directory.id,
            topics=[
                TopicData(
                    topic_id=topic.topic_id,
                    partitions=[
                        PartitionData(
                            partition_index=row.partition_index,
                            error_code=assignment.assign(directory.id, topic.topic_id, row.partition_index),
                        )
                        for row in topic.partitions
                    ],
                )
                for topic in directory.topics
            ],
        )
        for directory in request.directories
    ]
    return Decision(assignment.records, AssignReplicasToDirsResponse(directories=rows), is_atomic=False)


class _Assignment:
    """The assignments of one request. A replica that is named twice meets its own change, not the image."""

    def __init__(self, image: ClusterImage, broker: BrokerImage, rules: ElectionRules) -> None:
        self._image = image
        self._broker = broker
        self._rules = rules
        self._changed: dict[TopicIdPartition, PartitionState] = {}
        self.records: list[Message] = []

    def assign(self, directory: bytes, topic_id: bytes, partition_id: int) -> ErrorCode:
        topic = self._image.topics.by_id(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        state = self._changed.get((topic_id, partition_id)) or topic.partition(partition_id)
        if state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker_id = self._broker.id
        if broker_id not in state.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        is_online = self._broker.has_online_directory(directory)
        isr = state.isr if is_online else tuple(replica for replica in state.isr if replica != broker_id)
        wanted = Wanted(isr=isr, directories={broker_id: directory})
        placed = replace(state, directories=_with(state, broker_id, directory))
        by = self._rules.terms(self._image, topic.name).circumstances(
            placed, leaving=NO_LEADER if is_online else broker_id
        )
        record = change_partition(topic_id, partition_id, state, wanted, by)
        if record is not None:
            self.records.append(record)
            self._changed[(topic_id, partition_id)] = state.changed_by(record)
        return ErrorCode.NONE


def _with(state: PartitionState, broker_id: int, directory: bytes) -> tuple[bytes, ...]:
    return tuple(
        directory if replica == broker_id else known
        for replica, known in zip(state.replicas, state.directories, strict=True)
    )
