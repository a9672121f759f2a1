"""Fetch: returns whole batches from some partitions, as soon as there are enough bytes or the client's wait is over.

Versions: 4 is the oldest, with isolation level; 5 log start offset; 7 fetch sessions (KIP-227); 9 leader epochs; 10
allows zstd; 11 rack; 12 flexible, and tells a diverging epoch; 13 names topics by id (KIP-516); 15 moves the replica id
into a tag (KIP-903); 16 hints at the leader's endpoint (KIP-951); 17 directory ids; 18 the follower's high watermark.

Rules: an offset inside a batch returns the whole batch; the first batch is returned even if it is larger than the
limits; a consumer sees nothing above the high watermark, a read_committed one nothing above the last stable offset.

A fetch with a replica id is a follower's. It reads to the end of the log, whatever its isolation level says, and its
offsets say how far the follower has come; so it must come from a replica of the partition, with the broker epoch of its
registration (CVE-2018-1288, KIP-903). It is answered when there are records; a watermark that moved travels with the
next answer, as in Kafka, which wakes only replicas of the metadata log by it (the field of version 18).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.requests.fetching import Fetching, Follower
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchResponse
from ottla.replication.fetch_session import NO_REPLICA_ID, FetchPartition, PartitionKey
from ottla.replication.follower_progress import UNKNOWN_BROKER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Awaitable

API_KEY = ApiKey.FETCH
REQUEST = FetchRequest


def handle(context: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    """Answers at once if there is enough data; otherwise waits for more."""
    uses_topic_ids = context.api_version >= 13
    follower = _follower(context, request)
    try:
        scope = context.broker.data_path.fetch_sessions.scope(
            request.session_id,
            request.session_epoch,
            _named(request, uses_topic_ids),
            _forgotten(request, uses_topic_ids),
            uses_topic_ids=uses_topic_ids,
            replica_id=NO_REPLICA_ID if follower is None else follower.replica_id,
            now_ms=context.broker.replicas.monotonic_ms(),
        )
    except ApiError as error:
        return FetchResponse(error_code=error.code, session_id=0)
    fetching = Fetching(context, request, scope, follower)
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


def _follower(context: RequestContext, request: FetchRequest) -> Follower | None:
    """Who fetches, None for a consumer. Versions before 15 name no broker epoch."""
    state = request.replica_state
    if context.api_version < 15:
        follower = Follower(request.replica_id, UNKNOWN_BROKER_EPOCH)
    elif state is not None:
        follower = Follower(state.replica_id, state.replica_epoch)
    else:
        return None
    return follower if follower.replica_id >= 0 else None


def _named(request: FetchRequest, uses_topic_ids: bool) -> list[FetchPartition]:
    return [
        FetchPartition(
            topic.topic_id if uses_topic_ids else topic.topic,
            row.partition,
            row.fetch_offset,
            row.partition_max_bytes,
            row.current_leader_epoch,
            row.last_fetched_epoch,
            row.log_start_offset,
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
