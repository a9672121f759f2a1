"""DescribeLogDirs: the log directories of this broker, what is in them and how much space is left.

Versions: 2 is flexible; 3 has an error for the whole answer; 4 sizes of the volume (KIP-827); 5 whether a directory is
cordoned (KIP-1066). The sizes of a volume that does not answer are unknown (-1).
"""

from collections import defaultdict
from collections.abc import Sequence

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from ottla.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ottla.storage.log_directory import LogDirectory

API_KEY = ApiKey.DESCRIBE_LOG_DIRS
REQUEST = DescribeLogDirsRequest

_UNKNOWN_BYTES = -1


async def handle(context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """One row per directory."""
    results = []
    logs = context.broker.replicas.logs
    for directory in logs.online_directories:
        total_bytes, usable_bytes = await _space(context, directory)
        results.append(
            DescribeLogDirsResult(
                log_dir=str(directory.path),
                topics=await _topics(context, directory, request.topics),
                total_bytes=total_bytes,
                usable_bytes=usable_bytes,
                is_cordoned=directory.path in logs.cordoned,
            )
        )
    results += [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=str(path))
        for path in logs.offline_paths
    ]
    return DescribeLogDirsResponse(results=results)


def error_response(
    context: RequestContext, request: DescribeLogDirsRequest, error: ApiError
) -> DescribeLogDirsResponse:
    """No directories."""
    del context, request
    return DescribeLogDirsResponse(error_code=error.code)


async def _space(context: RequestContext, directory: LogDirectory) -> tuple[int, int]:
    """The bytes of the volume, and how many of them this process may still use."""
    volume = await context.broker.volumes.ask(directory.path)
    if volume is None:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return volume


async def _topics(
    context: RequestContext, directory: LogDirectory, wanted: Sequence[DescribableLogDirTopic] | None
) -> list[DescribeLogDirsTopic]:
    chosen = None if wanted is None else {(row.topic, index) for row in wanted for index in row.partitions}
    rows: defaultdict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
    async for (topic, index), log in context.time_slice().over(tuple(directory.logs.items())):
        if chosen is None or (topic, index) in chosen:
            lag = max(log.high_watermark - log.log_end_offset, 0)
            rows[topic].append(
                DescribeLogDirsPartition(partition_index=index, partition_size=log.size_bytes, offset_lag=lag)
            )
    for (topic, index), move in context.broker.moves.under_way.items():
        if move.target is directory and (chosen is None or (topic, index) in chosen):
            rows[topic].append(
                DescribeLogDirsPartition(
                    partition_index=index, partition_size=move.size_bytes, offset_lag=move.lag, is_future_key=True
                )
            )
    return [DescribeLogDirsTopic(name=topic, partitions=partitions) for topic, partitions in rows.items()]
