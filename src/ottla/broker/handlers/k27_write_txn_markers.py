"""WriteTxnMarkers: a transaction's coordinator ends it in the partitions that it wrote to.

Versions: 1 is the oldest, flexible; 2 gives the transaction version by which the markers are checked (KIP-890).

A partition is answered once its marker is committed. In a partition of the offsets topic the group coordinator writes
the marker, because the offsets of the transaction take effect with it, or never. A marker that was written before is
answered as if it were written now; each marker gets its own row, in the order of the request.

A marker that no broker sent was sent by an operator (`abort` of the tools for transactions). It may tear a transaction
apart for good, so it is written to the node's log. Brokers are known by their client id, which is good enough for a
log: Ottla's and Apache's begin alike, and this broker's own coordinator has no host.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.peers import CLIENT_ID_PREFIX
from ottla.broker.requests.purgatory import wait_until_acknowledged
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from ottla.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from ottla.replication.partition import ACKS_ALL, AppendOutcome, Partition
from ottla.storage.log import AppendInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

logger = logging.getLogger(__name__)

API_KEY = ApiKey.WRITE_TXN_MARKERS
REQUEST = WriteTxnMarkersRequest

# How many markers of one request are logged one by one, so that a single request cannot fill the log.
_LOGGED_MAX = 20


async def handle(context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """Appends all markers, then waits for those that are not committed at once."""
    context.deadline(context.broker.config.get_int("request.timeout.ms"))
    time_slice = context.time_slice()
    results: list[WritableTxnMarkerResult] = []
    waiting: list[Callable[[], Coroutine[Any, Any, None]]] = []
    for marker in request.markers:
        writing = _Writing(context, marker, waiting)
        topics: list[WritableTxnMarkerTopicResult] = []
        for topic in marker.topics:
            rows: list[WritableTxnMarkerPartitionResult] = []
            topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=rows))
            for index in topic.partition_indexes:
                rows.append(writing.write(topic.name, index))
                await time_slice.pause_if_used()
        results.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    # Together: each of them takes as long as its replicas.
    await asyncio.gather(*(part() for part in waiting))
    if context.client_host and not (context.client_id or "").startswith(CLIENT_ID_PREFIX):
        _log_markers(context.client_host, request.markers, results)
    return WriteTxnMarkersResponse(markers=results)


def error_response(
    context: RequestContext, request: WriteTxnMarkersRequest, error: ApiError
) -> WriteTxnMarkersResponse:
    """The same error for every partition."""
    del context
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error.code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _log_markers(
    client_host: str, markers: Sequence[WritableTxnMarker], results: Sequence[WritableTxnMarkerResult]
) -> None:
    written = [
        (marker, f"{topic.name}-{row.partition_index}")
        for marker, result in zip(markers, results, strict=True)
        for topic in result.topics
        for row in topic.partitions
        if row.error_code == ErrorCode.NONE
    ]
    for marker, place in written[:_LOGGED_MAX]:
        logger.info(
            "%s %s the transaction of producer %d (epoch %d) in %s alone, by a marker of its own",
            client_host,
            "committed" if marker.transaction_result else "aborted",
            marker.producer_id,
            marker.producer_epoch,
            place,
        )
    if len(written) > _LOGGED_MAX:
        logger.info("%s wrote %d more markers in the same request", client_host, len(written) - _LOGGED_MAX)


class _Writing:
    """Writes one marker into its partitions."""

    __slots__ = ("_batch", "_context", "_marker", "_waiting")

    def __init__(
        self,
        context: RequestContext,
        marker: WritableTxnMarker,
        waiting: list[Callable[[], Coroutine[Any, Any, None]]],
    ) -> None:
        """Appends to the list what has to be awaited."""
        self._context = context
        self._marker = marker
        self._waiting = waiting
        self._batch = end_txn_batch(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            is_commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=context.broker.host.now_ms(),
        )

    def write(self, topic: str, index: int) -> WritableTxnMarkerPartitionResult:
        """The row of a partition; final unless something has to be awaited."""
        row = WritableTxnMarkerPartitionResult(partition_index=index)
        replicas = self._context.broker.replicas
        try:
            self._check_marker()
            partition = replicas.partition(topic, index)
            if topic == OFFSETS_TOPIC:
                self._waiting.append(partial(self._end_in_groups, index, row))
            else:
                self._append(partition, row)
        except ApiError as error:
            row.error_code = error.code
        return row

    def _check_marker(self) -> None:
        marker = self._marker
        if marker.producer_id < 0 or marker.producer_epoch < 0 or marker.transaction_version < 0:
            # No coordinator sends this; Kafka answers the same.
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "A marker needs a producer, its epoch and a version")

    def _append(self, partition: Partition, row: WritableTxnMarkerPartitionResult) -> None:
        outcome = partition.append(
            self._batch,
            acks=ACKS_ALL,
            now_ms=self._context.broker.host.now_ms(),
            transaction_version=self._marker.transaction_version,
        )
        if isinstance(outcome, AppendInfo) and partition.is_acknowledged(ACKS_ALL, outcome):
            return
        self._waiting.append(partial(self._finish, partition, outcome, row))

    async def _finish(
        self, partition: Partition, outcome: AppendOutcome, row: WritableTxnMarkerPartitionResult
    ) -> None:
        """Waits until the marker is in the log, and committed."""
        deadline = self._context.deadline(0)
        try:
            info = outcome if isinstance(outcome, AppendInfo) else await outcome.result(deadline)
            if not await wait_until_acknowledged(partition, ACKS_ALL, info, deadline):
                row.error_code = ErrorCode.REQUEST_TIMED_OUT
        except ApiError as error:
            row.error_code = error.code

    async def _end_in_groups(self, index: int, row: WritableTxnMarkerPartitionResult) -> None:
        marker = self._marker
        try:
            row.error_code = await self._context.broker.coordinators.groups.end_transaction(
                index,
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.transaction_result,
                marker.transaction_version,
            )
        except ApiError as error:
            row.error_code = error.code
