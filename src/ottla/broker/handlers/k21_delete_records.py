"""DeleteRecords: moves the start of some logs forward; what lies before is gone for readers at once.

Versions: 0-1 differ in nothing, 2 is flexible. Offset -1 means the high watermark. Files go later, with retention.
"""

from ottla.broker.request_context import RequestContext
from ottla.metadata.controller.topic_names import is_internal
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest
from ottla.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

API_KEY = ApiKey.DELETE_RECORDS
REQUEST = DeleteRecordsRequest

HIGH_WATERMARK = -1


def handle(context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """One row per partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_row(context, topic.name, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def error_response(context: RequestContext, request: DeleteRecordsRequest, error: ApiError) -> DeleteRecordsResponse:
    """The same error for every partition."""
    del context
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_refused(row.partition_index, error) for row in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _refused(index: int, error: ApiError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error.code)


def _row(context: RequestContext, topic: str, wanted: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    try:
        low_watermark = _delete(context, topic, wanted)
    except ApiError as error:
        return _refused(wanted.partition_index, error)
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=low_watermark)


def _delete(context: RequestContext, topic: str, wanted: DeleteRecordsPartition) -> int:
    if is_internal(topic):
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Records of the internal topic {topic} are not for deletion")
    partition = context.broker.replicas.partition(topic, wanted.partition_index)
    partition.require_leader()
    log = partition.log
    if not log.config.deletes_old_segments:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted: cleanup.policy must contain delete")
    target = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if target < 0 or target > log.high_watermark:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Offset {target} is not within 0 and the high watermark {log.high_watermark}",
        )
    log.increment_log_start_offset(target)
    partition.tell_log_start()
    return log.log_start_offset
