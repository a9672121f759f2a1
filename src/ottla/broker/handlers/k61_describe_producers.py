"""DescribeProducers: the producers that a replica of a partition remembers (KIP-664). Version 0, flexible.

A client asks the leader unless it names a broker: followers know the same producers, as far as their logs reach.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest
from ottla.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

API_KEY = ApiKey.DESCRIBE_PRODUCERS
REQUEST = DescribeProducersRequest


async def handle(context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """One row per partition, however often it is asked for: a partition may have thousands of producers."""
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    time_slice = context.time_slice()
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=name, partitions=[_row(context, name, index) async for index in time_slice.over(indexes)]
            )
            for name, indexes in wanted.items()
        ]
    )


def error_response(
    context: RequestContext, request: DescribeProducersRequest, error: ApiError
) -> DescribeProducersResponse:
    """The same error for every partition."""
    del context
    return DescribeProducersResponse(
        topics=[
            TopicResponse(name=topic.name, partitions=[_refused(index, error) for index in topic.partition_indexes])
            for topic in request.topics
        ]
    )


def _refused(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)


def _row(context: RequestContext, topic: str, index: int) -> PartitionResponse:
    try:
        partition = context.broker.replicas.partition(topic, index)
    except ApiError as error:
        return _refused(index, error)
    producers = [
        ProducerState(
            producer_id=state.producer_id,
            producer_epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_timestamp=state.last_timestamp_ms,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=-1 if state.transaction_first_offset is None else state.transaction_first_offset,
        )
        for state in partition.log.producer_states()
    ]
    return PartitionResponse(partition_index=index, active_producers=producers)
