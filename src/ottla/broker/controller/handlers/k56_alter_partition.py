"""AlterPartition: the leader of partitions changes their in-sync replicas (KIP-497).

Versions: 2 names topics by id; 3 adds the broker epoch of each replica (KIP-903).
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.ALTER_PARTITION
REQUEST = AlterPartitionRequest


async def handle(context: RequestContext, request: AlterPartitionRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(context: RequestContext, request: AlterPartitionRequest, error: ApiError) -> AlterPartitionResponse:
    del context, request
    return AlterPartitionResponse(error_code=error.code)
