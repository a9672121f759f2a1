"""DescribeQuorum: the voters of the metadata log and how far each has replicated it (KIP-595, KIP-836, KIP-853).

Versions: 1 adds the times of the last fetch; 2 directory ids, the voters' endpoints and error messages.
"""

from collections.abc import Coroutine
from typing import Any

from ottla.broker.quorum import ReplicaDescription
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from ottla.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from ottla.protocol.schema import Message

API_KEY = ApiKey.DESCRIBE_QUORUM
REQUEST = DescribeQuorumRequest

METADATA_PARTITION = 0


def handle(
    context: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse | Coroutine[Any, Any, Message]:
    """The state of the one partition that has a quorum. Only its leader knows how far the others are: a broker asks it,
    a controller leaves that to the client."""
    asked = [(topic.topic_name, [row.partition_index for row in topic.partitions]) for topic in request.topics]
    if asked != [(CLUSTER_METADATA_TOPIC, [METADATA_PARTITION])]:
        return _refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if context.broker.metadata.log.leader_epoch is None:
        if context.listener not in context.broker.config.controller_listener_names:
            return context.broker.metadata.controller.handle(context, request)
        return _refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    quorum = context.broker.metadata.log.describe()
    partition = PartitionData(
        partition_index=METADATA_PARTITION,
        leader_id=quorum.leader_id,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[_replica(voter) for voter in quorum.voters],
        observers=[_replica(observer) for observer in quorum.observers],
    )
    nodes = [
        Node(
            node_id=voter_id,
            listeners=[Listener(name=end.name, host=end.host, port=end.port) for end in endpoints],
        )
        for voter_id, endpoints in sorted(quorum.voter_endpoints.items())
    ]
    return DescribeQuorumResponse(
        topics=[TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])], nodes=nodes
    )


def error_response(context: RequestContext, request: DescribeQuorumRequest, error: ApiError) -> DescribeQuorumResponse:
    """One error for the whole request."""
    del context, request
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message)


def _replica(replica: ReplicaDescription) -> ReplicaState:
    return ReplicaState(
        replica_id=replica.id,
        replica_directory_id=replica.directory_id,
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp=replica.last_fetch_timestamp_ms,
        last_caught_up_timestamp=replica.last_caught_up_timestamp_ms,
    )


def _refused(request: DescribeQuorumRequest, code: ErrorCode) -> DescribeQuorumResponse:
    rows = [
        TopicData(
            topic_name=topic.topic_name,
            partitions=[
                PartitionData(partition_index=row.partition_index, error_code=code, error_message=code.name)
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return DescribeQuorumResponse(topics=rows)
