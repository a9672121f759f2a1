"""Writes the markers of a transaction that is about to end into its partitions.

The outcome is logged, so it must happen: a marker that fails is sent again until it succeeds, with a growing pause. A
partition that does not exist any more needs no marker. Neither does one that knows a later epoch of the producer: the
transaction cannot be open there. Only a coordinator that has been replaced stops; its successor has read the same log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable

from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.coordinator.transaction.metadata import TransactionMetadata, by_topic
from ottla.metadata.image import NO_LEADER, ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 1.0
_WARN_AFTER_S = 5.0
_WARN_AGAIN_S = 60.0


class CoordinatorReplaced(Exception):
    """Another coordinator is in charge of the transaction."""


class MarkerWriter:
    """Writes the markers of all transactions of a coordinator."""

    def __init__(self, channel: TransactionChannel, image: Callable[[], ClusterImage]) -> None:
        self._channel = channel
        self._image = image

    async def write(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Return once every partition of a prepared transaction has its marker; or raise CoordinatorReplaced."""
        lacking = set(metadata.partitions)
        pause_s = _FIRST_PAUSE_S
        warn_at_s = asyncio.get_running_loop().time() + _WARN_AFTER_S
        while True:
            for node_id, partitions in self._by_leader(lacking).items():
                request = _request(metadata, partitions, coordinator_epoch)
                answer = await self._channel.write_markers(node_id, request)
                lacking -= _settled(metadata, answer)
            topics = self._image().topics
            lacking = {one for one in lacking if topics.partition_of(*one) is not None}
            if not lacking:
                return
            if asyncio.get_running_loop().time() >= warn_at_s:
                warn_at_s += _WARN_AGAIN_S
                logger.warning(
                    "A transaction of %s has ended, but %d partitions do not accept its marker, like %s; retrying. "
                    "Until then, read_committed consumers wait there, and the producer waits with its next transaction",
                    metadata.transactional_id,
                    len(lacking),
                    min(lacking),
                )
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        topics = self._image().topics
        leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for partition in sorted(partitions):
            state = topics.partition_of(*partition)
            if state is not None and state.leader != NO_LEADER:
                leaders[state.leader].append(partition)
        return leaders


def _request(
    metadata: TransactionMetadata, partitions: Iterable[TopicPartition], coordinator_epoch: int
) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=metadata.producer_id,
                producer_epoch=metadata.producer_epoch,
                transaction_result=metadata.is_commit,
                topics=[
                    WritableTxnMarkerTopic(name=name, partition_indexes=ids)
                    for name, ids in by_topic(partitions).items()
                ],
                coordinator_epoch=coordinator_epoch,
                transaction_version=metadata.client_transaction_version,
            )
        ]
    )


def _settled(metadata: TransactionMetadata, answer: WriteTxnMarkersResponse) -> set[TopicPartition]:
    """The partitions that need no marker any more."""
    settled: set[TopicPartition] = set()
    for marker in answer.markers:
        for topic in marker.topics:
            for row in topic.partitions:
                partition = TopicPartition(topic.name, row.partition_index)
                code = ErrorCode(row.error_code)
                if code is ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                    raise CoordinatorReplaced
                if code is ErrorCode.INVALID_PRODUCER_EPOCH:
                    logger.warning(
                        "%s knows a later epoch of producer %d than %d: %s has no open transaction there",
                        partition,
                        metadata.producer_id,
                        metadata.producer_epoch,
                        metadata.transactional_id,
                    )
                    code = ErrorCode.NONE
                if code is ErrorCode.NONE:
                    settled.add(partition)
    return settled
