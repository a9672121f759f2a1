"""Metadata: the brokers, and the partitions of some topics with their leaders.

Versions: 0 takes an empty list as "all topics", later ones null, and names no replica that its client cannot reach; 4
lets a client forbid that topics be created; 6 tells a leader without the client's listener from one that is away; 7
leader epochs; 8 authorised operations (the cluster's until 10); 9 flexible; 10 topic ids, usable in the request from
12; 13 a top-level error (KIP-1102).

The answer is for the listener that the client came through: brokers without an address there, and fenced ones, are left
out, and do not lead as far as this client is concerned. The controller is any of the brokers, since each of them passes
requests on to the active controller, which clients cannot reach; a random one, so that the load is spread.

A topic that does not exist is created if the client and `auto.create.topics.enable` allow it. As in Kafka, the request
that causes it gets UNKNOWN_TOPIC_OR_PARTITION all the same, and finds the topic when it retries; here that is certain
as long as there is a controller, since the answer waits for the creation. For a topic that cannot be created the answer
says why, where Kafka reports it as unknown for ever. A request for the topic of a coordinator creates that topic, with
its own settings.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

from ottla.broker.requests.partition_view import view
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.controller.topic_names import is_internal
from ottla.metadata.image import TopicImage, TopicsImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.uuids import ZERO_UUID
from ottla.security.operations import CLUSTER_OPERATIONS, NOT_REQUESTED, TOPIC_OPERATIONS, as_bits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

API_KEY = ApiKey.METADATA
REQUEST = MetadataRequest

_KNOWS_LISTENERS_FROM = 6
# An answer with more topics or partitions than this is built in several turns of the loop.
ROWS_AT_ONCE = 500

# The topics to describe; or the row itself, where a name has no topic.
Chosen: TypeAlias = "TopicsImage | list[TopicImage | MetadataResponseTopic]"


def handle(context: RequestContext, request: MetadataRequest) -> MetadataResponse | Awaitable[MetadataResponse]:
    """Answers from the image, at once unless topics have to be created or the answer is large."""
    missing = _topics_to_create(context, request)
    if missing:
        return _create_and_answer(context, request, missing)
    chosen = _chosen(context, request)
    if _is_large(chosen):
        return _answer_in_slices(context, request, chosen)
    rows = []
    for topic in chosen:
        if isinstance(topic, TopicImage):
            rows.append(_row(request, topic, list(_partition_rows(context, topic))))
        else:
            rows.append(topic)
    return _response(context, request, rows)


def error_response(context: RequestContext, request: MetadataRequest, error: ApiError) -> MetadataResponse:
    """The error at the top (version 13), and for every topic that was named."""
    del context
    rows = [
        MetadataResponseTopic(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id)
        for topic in request.topics or ()
    ]
    return MetadataResponse(error_code=error.code, topics=rows)


def _topics_to_create(context: RequestContext, request: MetadataRequest) -> list[str]:
    is_allowed = context.api_version < 4 or request.allow_auto_topic_creation
    if not request.topics or not is_allowed or not context.broker.config.get_bool("auto.create.topics.enable"):
        return []
    topics = context.broker.image.topics
    return [
        topic.name
        for topic in request.topics
        if topic.name is not None and topic.topic_id == ZERO_UUID and topics.by_name(topic.name) is None
    ]


async def _create_and_answer(context: RequestContext, request: MetadataRequest, missing: list[str]) -> MetadataResponse:
    broker = context.broker
    # Chosen before the creation: this request does not see the topics that it creates.
    chosen = _chosen(context, request)
    refused = await broker.metadata.topic_creation.create_on_demand(missing)
    for internal in (broker.coordinators.groups.topic, broker.coordinators.transactions.topic):
        if internal.spec.name in missing:
            with contextlib.suppress(ApiError):
                await internal.ensure_exists()
    for topic in chosen:
        if isinstance(topic, MetadataResponseTopic) and topic.name in refused:
            topic.error_code = refused[topic.name]
    return await _answer_in_slices(context, request, chosen)


async def _answer_in_slices(context: RequestContext, request: MetadataRequest, chosen: Chosen) -> MetadataResponse:
    time_slice = context.time_slice()
    rows: list[MetadataResponseTopic] = []
    async for topic in time_slice.over(chosen):
        if isinstance(topic, TopicImage):
            partitions = [row async for row in time_slice.over(_partition_rows(context, topic))]
            rows.append(_row(request, topic, partitions))
        else:
            rows.append(topic)
    return _response(context, request, rows)


def _chosen(context: RequestContext, request: MetadataRequest) -> Chosen:
    if request.topics is None or (context.api_version == 0 and not request.topics):
        return context.broker.image.topics
    # A topic that is named twice gets one row.
    wanted = {(topic.name, topic.topic_id): topic for topic in request.topics}
    return [_found(context, topic) for topic in wanted.values()]


def _is_large(chosen: Chosen) -> bool:
    return len(chosen) > ROWS_AT_ONCE or sum(len(topic.partitions) for topic in chosen) > ROWS_AT_ONCE


def _response(
    context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    image = context.broker.image
    brokers = [
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.unfenced()
        if (endpoint := broker.endpoint(context.listener)) is not None
    ]
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = as_bits(CLUSTER_OPERATIONS)
    return MetadataResponse(
        brokers=brokers,
        cluster_id=context.broker.cluster_id,
        controller_id=any_id(context, [broker.node_id for broker in brokers]),
        topics=topics,
        cluster_authorized_operations=operations,
    )


def any_id(context: RequestContext, broker_ids: list[int]) -> int:
    """The broker that a client takes for the controller: a random one of those that it can reach."""
    return broker_ids[context.broker.host.random_below(len(broker_ids))] if broker_ids else -1


def _found(context: RequestContext, wanted: MetadataRequestTopic) -> TopicImage | MetadataResponseTopic:
    topics = context.broker.image.topics
    if wanted.topic_id != ZERO_UUID:
        topic = topics.by_id(wanted.topic_id)
        if topic is None:
            name = None if context.api_version >= 12 else ""
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=wanted.topic_id, name=name)
        return topic
    name = wanted.name or ""
    topic = topics.by_name(name)
    if topic is None:
        code = context.broker.metadata.topic_creation.missing_topic_error(name)
        return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name))
    return topic


def _partition_rows(context: RequestContext, topic: TopicImage) -> Iterator[MetadataResponsePartition]:
    for index, state in sorted(topic.partitions.items()):
        seen = view(context, state)
        row = MetadataResponsePartition(
            error_code=seen.error_code,
            partition_index=index,
            leader_id=seen.leader_id,
            leader_epoch=state.leader_epoch,
            replica_nodes=state.replicas,
            isr_nodes=state.isr,
            offline_replicas=seen.offline_replicas,
        )
        if context.api_version < _KNOWS_LISTENERS_FROM:
            _as_old_clients_expect(context, row)
        yield row


def _as_old_clients_expect(context: RequestContext, row: MetadataResponsePartition) -> None:
    if row.error_code == ErrorCode.LISTENER_NOT_FOUND:
        row.error_code = ErrorCode.LEADER_NOT_AVAILABLE
    if context.api_version == 0:
        named = len(row.replica_nodes) + len(row.isr_nodes)
        row.replica_nodes = _reachable(context, row.replica_nodes)
        row.isr_nodes = _reachable(context, row.isr_nodes)
        if row.error_code == ErrorCode.NONE and len(row.replica_nodes) + len(row.isr_nodes) < named:
            row.error_code = ErrorCode.REPLICA_NOT_AVAILABLE


def _reachable(context: RequestContext, broker_ids: Sequence[int]) -> list[int]:
    brokers = context.broker.image.brokers
    return [
        broker_id
        for broker_id in broker_ids
        if (broker := brokers.get(broker_id)) is not None
        and not broker.is_fenced
        and broker.endpoint(context.listener) is not None
    ]


def _row(
    request: MetadataRequest, topic: TopicImage, partitions: list[MetadataResponsePartition]
) -> MetadataResponseTopic:
    operations = as_bits(TOPIC_OPERATIONS) if request.include_topic_authorized_operations else NOT_REQUESTED
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=partitions,
        topic_authorized_operations=operations,
    )
