"""Fetch: returns whole batches from some partitions, as soon as there are enough bytes or the client's wait is over.

Versions: 4 is the oldest, with isolation level; 5 log start offset; 7 fetch sessions (KIP-227); 9 leader epochs; 10
allows zstd; 11 rack; 12 flexible, and tells a diverging epoch; 13 names topics by id (KIP-516); 15 moves the replica id
into a tag (KIP-903); 16 hints at the leader's endpoint (KIP-951); 17 directory ids; 18 the follower's high watermark.

Rules: an offset inside a batch returns the whole batch; the first batch is returned even if it is larger than the
limits; a consumer sees nothing above the high watermark, a read_committed one nothing above the last stable offset. A
fetch with a replica id is a follower's: it is refused as long as a cluster has one node (CVE-2018-1288).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.requests.fetching import Fetching
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchResponse
from ottla.replication.fetch_session import NO_REPLICA_ID, FetchPartition, PartitionKey

if TYPE_CHECKING:
    from collections.abc import Awaitable

API_KEY = ApiKey.FETCH
REQUEST = FetchRequest


def handle(context: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    """Answers at once if there is enough data; otherwise waits for more."""
    uses_topic_ids = context.api_version >= 13
    replica_id = request.replica_id if context.api_version < 15 else _replica_id(request)
    try:
        scope = context.broker.data_path.fetch_sessions.scope(
            request.session_id,
            request.session_epoch,
            _named(request, uses_topic_ids),
            _forgotten(request, uses_topic_ids),
            uses_topic_ids=uses_topic_ids,
            replica_id=max(replica_id, NO_REPLICA_ID),
            now_ms=context.broker.replicas.monotonic_ms(),
        )
    except ApiError as error:
        return FetchResponse(error_code=error.code, session_id=0)
    fetching = Fetching(context, request, scope)
    if replica_id >= 0:
        fetching.refuse_follower()
        return fetching.answer()
    if fetching.is_large:
        return fetching.read_large()
    fetching.read_all()
    if fetching.is_enough():
        return fetching.answer()
    fetching.watch_places()
    return fetching.finish()


def error_response(context: RequestContext, request: FetchRequest, error: ApiError) -> FetchResponse:
    """One error for the whole request."""
    del context, request
    return FetchResponse(error_code=error.code)


def _replica_id(request: FetchRequest) -> int:
    return -1 if request.replica_state is None else request.replica_state.replica_id


def _named(request: FetchRequest, uses_topic_ids: bool) -> list[FetchPartition]:
    return [
        FetchPartition(
            topic.topic_id if uses_topic_ids else topic.topic,
            row.partition,
            row.fetch_offset,
            row.partition_max_bytes,
            row.current_leader_epoch,
            row.last_fetched_epoch,
        )
        for topic in request.topics
        for row in topic.partitions
    ]


def _forgotten(request: FetchRequest, uses_topic_ids: bool) -> list[PartitionKey]:
    return [
        (topic.topic_id if uses_topic_ids else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
