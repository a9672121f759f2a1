"""Writes the markers of transactions that are about to end into their partitions, on whichever brokers lead them.

Guarantees
- The outcome is logged, so it must happen: a marker that fails is sent again until it succeeds, with a growing pause.
  The image is asked before each attempt who leads the partition, since that may be the reason why it failed.
- A partition that does not exist any more needs no marker.
- A partition that knows a later epoch, of the coordinator (TRANSACTION_COORDINATOR_FENCED) or of the producer
  (INVALID_PRODUCER_EPOCH), ends the markers of the whole transaction: another coordinator has read the same log and is
  further. So does the loss of the shard, which cancels `write`; what still waits in a queue is then dropped.

Partitions of this broker are written without a socket, each transaction by itself. Every other broker has a queue
(`broker_queues`), and gets the markers of all transactions that wait there in one WriteTxnMarkers. Nothing here
survives a crash: the next coordinator finds the prepared transactions in its log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ottla.broker.coordinators.transactions.broker_queues import BrokerQueues
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.peers import PeerUnavailable
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
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
# So many partitions go out in one request. The rest waits for the next one.
PARTITIONS_PER_REQUEST_MAX: Final = 5_000

# A later epoch is known: this coordinator is not up to date.
_SUPERSEDED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
# With these there is no open transaction to end, and never will be: answers of brokers before 4.0, about logs that
# cannot hold transactions.
_NOTHING_TO_END: Final = frozenset(
    {
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)

# By producer id, since Apache Kafka merges the rows of a producer.
Codes = dict[int, dict[TopicPartition, ErrorCode]]


class TransactionSuperseded(Exception):
    """A partition knows a later epoch of the transaction's producer or coordinator: this one is not in charge."""


class _Ending:
    """A prepared transaction, until each of its partitions has its marker."""

    __slots__ = ("coordinator_epoch", "is_over", "lacking", "metadata", "outcome", "warn_at_s")

    def __init__(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        loop = asyncio.get_running_loop()
        self.metadata = metadata
        self.coordinator_epoch = coordinator_epoch
        self.lacking = set(metadata.partitions)
        self.outcome: asyncio.Future[None] = loop.create_future()
        self.is_over = False
        self.warn_at_s = loop.time() + _WARN_AFTER_S

    def end(self, error: TransactionSuperseded | None = None) -> None:
        """Tells whoever waits for it, unless nobody does any more."""
        self.is_over = True
        if self.outcome.done():
            return
        if error is None:
            self.outcome.set_result(None)
        else:
            self.outcome.set_exception(error)


@dataclass(slots=True)
class _Portion:
    """Partitions of one transaction that go the same way, and how long they wait if they fail."""

    ending: _Ending
    partitions: list[TopicPartition]
    pause_s: float = _FIRST_PAUSE_S


class MarkerWriter:
    """Writes the markers of all transactions that this broker coordinates."""

    def __init__(
        self, node_id: int, channel: TransactionChannel, image: Callable[[], ClusterImage], tasks: Tasks
    ) -> None:
        self._node_id = node_id
        self._channel = channel
        self._image = image
        self._tasks = tasks
        self._queues = BrokerQueues("markers", tasks, _choose, self._send)

    async def write(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Return once every partition of a prepared transaction has its marker; or raise TransactionSuperseded."""
        ending = _Ending(metadata, coordinator_epoch)
        self._dispatch(_Portion(ending, sorted(ending.lacking)))
        try:
            await ending.outcome
        finally:
            ending.is_over = True

    # -- ways to the partitions ---------------------------------------------------------------------------------------

    def _dispatch(self, portion: _Portion) -> None:
        """Sends each partition to whoever leads it now."""
        ending = portion.ending
        if ending.is_over:
            return
        topics = self._image().topics
        by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for partition in portion.partitions:
            state = topics.partition_of(*partition)
            if state is None:
                ending.lacking.discard(partition)
            else:
                by_leader[state.leader].append(partition)
        if not ending.lacking:
            ending.end()
        for leader, partitions in by_leader.items():
            part = _Portion(ending, partitions, portion.pause_s)
            if leader == NO_LEADER:
                self._retry(part)
            elif leader == self._node_id:
                self._tasks.start_background("markers of this broker", self._send(leader, [part]))
            else:
                self._queues.put(leader, part)

    async def _send(self, broker_id: int, portions: Sequence[_Portion]) -> None:
        codes = await self._ask(broker_id, portions)
        for portion in portions:
            self._answered(portion, codes)

    async def _ask(self, broker_id: int, portions: Sequence[_Portion]) -> Codes | None:
        """What the broker says about each partition, None if it says nothing."""
        try:
            return _codes(await self._channel.write_markers(broker_id, _request(portions)))
        except PeerUnavailable:
            # It is logged where it is found out.
            return None
        except Exception:
            # Whatever it is, these transactions must end, and the next ones must be sent.
            logger.exception("Markers for broker %d failed; they are sent again", broker_id)
            return None

    # -- answers ------------------------------------------------------------------------------------------------------

    def _answered(self, portion: _Portion, codes: Codes | None) -> None:
        ending = portion.ending
        if ending.is_over:
            return
        metadata = ending.metadata
        told = (codes or {}).get(metadata.producer_id, {})
        failed: list[TopicPartition] = []
        for partition in portion.partitions:
            code = told.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            if code in _SUPERSEDED:
                ending.end(TransactionSuperseded(f"{code.name} from {partition}"))
                return
            if code in _NOTHING_TO_END:
                logger.warning(
                    "%s answers %s to a marker of producer %d in epoch %d: %s has no open transaction there",
                    partition,
                    code.name,
                    metadata.producer_id,
                    metadata.producer_epoch,
                    metadata.transactional_id,
                )
            if code is ErrorCode.NONE or code in _NOTHING_TO_END:
                ending.lacking.discard(partition)
            else:
                failed.append(partition)
        if not ending.lacking:
            ending.end()
        if failed:
            self._retry(_Portion(ending, failed, portion.pause_s))

    def _retry(self, portion: _Portion) -> None:
        loop = asyncio.get_running_loop()
        ending = portion.ending
        if loop.time() >= ending.warn_at_s:
            ending.warn_at_s = loop.time() + _WARN_AGAIN_S
            logger.warning(
                "A transaction of %s has ended, but %d partitions do not accept its marker, like %s; retrying. "
                "Until then, read_committed consumers wait there, and the producer waits with its next transaction",
                ending.metadata.transactional_id,
                len(ending.lacking),
                min(ending.lacking),
            )
        longer_s = min(2 * portion.pause_s, _LONGEST_PAUSE_S)
        loop.call_later(portion.pause_s, self._dispatch, _Portion(ending, portion.partitions, longer_s))


def _choose(waiting: list[_Portion]) -> tuple[list[_Portion], list[_Portion]]:
    """What goes into the next request: one portion for each transaction, without those that are over."""
    chosen: dict[_Ending, _Portion] = {}
    size = 0
    for position, portion in enumerate(waiting):
        if portion.ending.is_over:
            continue
        if size >= PARTITIONS_PER_REQUEST_MAX:
            return list(chosen.values()), waiting[position:]
        size += len(portion.partitions)
        same = chosen.get(portion.ending)
        if same is None:
            chosen[portion.ending] = portion
        else:
            same.partitions = sorted({*same.partitions, *portion.partitions})
    return list(chosen.values()), []


def _request(portions: Iterable[_Portion]) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(markers=[_marker(portion) for portion in portions])


def _marker(portion: _Portion) -> WritableTxnMarker:
    metadata = portion.ending.metadata
    return WritableTxnMarker(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_result=metadata.is_commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=ids)
            for name, ids in by_topic(portion.partitions).items()
        ],
        coordinator_epoch=portion.ending.coordinator_epoch,
        transaction_version=metadata.client_transaction_version,
    )


def _codes(answer: WriteTxnMarkersResponse) -> Codes:
    codes: Codes = {}
    for marker in answer.markers:
        rows = codes.setdefault(marker.producer_id, {})
        for topic in marker.topics:
            for row in topic.partitions:
                rows[TopicPartition(topic.name, row.partition_index)] = code_of(row.error_code)
    return codes
