"""AlterReplicaLogDirs: moves partitions of this broker to another of its log directories (KIP-113).

Versions: 2 is flexible. The answer says whether the move has started; DescribeLogDirs shows its progress.
"""

from collections import defaultdict
from pathlib import Path

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from ottla.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

API_KEY = ApiKey.ALTER_REPLICA_LOG_DIRS
REQUEST = AlterReplicaLogDirsRequest


def handle(context: RequestContext, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """One row per partition, grouped by topic."""
    rows: defaultdict[str, list[AlterReplicaLogDirPartitionResult]] = defaultdict(list)
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                code = _begin_move(context, topic.name, index, directory.path)
                rows[topic.name].append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(topic_name=topic, partitions=result) for topic, result in rows.items()]
    )


def _begin_move(context: RequestContext, topic: str, index: int, path: str) -> ErrorCode:
    replicas = context.broker.replicas
    target = next((x for x in replicas.logs.online_directories if x.path == Path(path)), None)
    try:
        if Path(path) in replicas.logs.offline_paths:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline")
        if target is None:
            raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not among this broker's log.dirs")
        if target.path in replicas.logs.cordoned and replicas.logs.directory_of(topic, index) is not target:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{path} is cordoned")
        move = context.broker.moves.move(topic, index, target)
    except ApiError as error:
        # Kafka's code for this request since before there was the other one.
        return ErrorCode.REPLICA_NOT_AVAILABLE if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER else error.code
    if move is not None:
        context.broker.tasks.start_background(f"move of {topic}-{index}", move)
    return ErrorCode.NONE
