"""The fetches of one split: which offsets come next, how many bytes to ask for, and what an answer means.

Guarantees. Each range is fetched in order, without any gap that the log does not have: the next position follows the
last batch that came. A range ends when its position has reached its end, which a later batch proves. Where the last
records of a log were compacted away no batch follows, and an empty answer is no proof: brokers also give one when they
have not looked (KIP-392), or when tiered storage was too slow (KIP-405). So a range that gets nothing, although the
partition ends later, is done only after `EMPTY_ANSWERS_MIN` such answers in a row, spread over `EMPTY_SPREAD_S`. Lost
data ends the query or is skipped, by `failOnDataLoss`. A partition counts as gone only after `LOSS_PATIENCE_S`: a
broker that has just started may not know it yet. Any other range that makes no progress for
`kafkaConsumer.pollTimeoutMs` is an error: nothing waits for ever.

All ranges of a split share each fetch, and the broker fills it in their order. How many bytes are asked for follows
from how many offsets are left and what an offset took so far, so that a small batch of a long topic fetches little.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ottla.client.errors import KafkaError
from ottla.client.fetch_request import NO_REPLICA, FetchedBatches
from ottla.client.offsets import IsolationLevel, OffsetSpec
from ottla.client.sync import Client
from ottla.pipeline.cluster_clients import asking
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import LOSS_PATIENCE_S, UNKNOWN
from ottla.pipeline.source.options import ReadOptions
from ottla.pipeline.source.ranges import REMEDY, OffsetRange
from ottla.protocol.columnar.batch_headers import batch_headers
from ottla.protocol.errors import ErrorCode
from ottla.protocol.records import CorruptRecords
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

FETCH_BYTES_MIN: Final = 64 * 1024
# Before the first answer; a record of a few hundred bytes is usual.
FIRST_OFFSET_BYTES: Final = 256.0
# Records differ in size: without a margin a second fetch would often bring the last few.
MARGIN: Final = 1.25
# Tiered storage answers empty when a read takes longer than 500 ms: several of those in a row.
EMPTY_ANSWERS_MIN: Final = 4
EMPTY_SPREAD_S: Final = 2.0
# Between answers that bring nothing, which may come at once: about doubled each time, up to the most.
PAUSE_S: Final = 0.05
PAUSE_S_MAX: Final = 1.0
IDLE_ANSWERS_MAX: Final = 10  # counted no further

# A broker that throttles answers without any partition; the client reports it with this code.
_NO_ANSWER: Final = ErrorCode.UNKNOWN_SERVER_ERROR


class Clock(Protocol):
    def __call__(self) -> float: ...


@dataclass(slots=True)
class _Cursor:
    """Where a range stands."""

    range: OffsetRange
    position: int
    offset_bytes: float = FIRST_OFFSET_BYTES
    # In a row, and when the first of them came.
    empty_answers: int = 0
    empty_since_s: float = 0.0

    @property
    def wanted_bytes(self) -> int:
        return max(FETCH_BYTES_MIN, int((self.range.until - self.position) * self.offset_bytes * MARGIN))

    def note_empty(self, now_s: float) -> None:
        """Note an answer that says nothing is left; the range is done after enough of them."""
        if not self.empty_answers:
            self.empty_since_s = now_s
        self.empty_answers += 1
        if self.empty_answers >= EMPTY_ANSWERS_MIN and now_s - self.empty_since_s >= EMPTY_SPREAD_S:
            logger.warning(
                "%s: %d answers brought nothing from offset %d on; assuming that it was compacted away",
                self.range,
                self.empty_answers,
                self.position,
            )
            self.position = self.range.until


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one fetch brought of a range; it may include records outside of its offsets."""

    range: OffsetRange
    fetched: FetchedBatches


class SplitFetches:
    """See the module. `now_s` is a steady clock."""

    def __init__(self, client: Client, ranges: Sequence[OffsetRange], options: ReadOptions, now_s: Clock) -> None:
        self._client = client
        self._options = options
        self._now_s = now_s
        self._cursors = {one.topic_partition: _Cursor(one, one.start) for one in ranges}
        self._progress_s = now_s()
        self._idle_answers = 0

    @property
    def has_more(self) -> bool:
        """Whether any range is not done yet."""
        return bool(self._cursors)

    @property
    def pause_s(self) -> float:
        """How long to wait before the next fetch, so that a struggling broker is not asked all the time."""
        return min(PAUSE_S_MAX, PAUSE_S * (2.0**self._idle_answers - 1))

    def start(self) -> "Future[dict[TopicPartition, FetchedBatches]] | None":
        """Begin the next fetch; None if everything was read."""
        if not self.has_more:
            return None
        wanted = [cursor.wanted_bytes for cursor in self._cursors.values()]
        limits = replace(
            self._options.fetch,
            partition_max_bytes=min(max(wanted), self._options.fetch.partition_max_bytes),
            max_bytes=min(sum(wanted), self._options.fetch.max_bytes),
        )
        return self._client.start_fetch_partitions(
            {partition: cursor.position for partition, cursor in self._cursors.items()},
            limits=limits,
            isolation=self._options.isolation,
            timeout_ms=self._options.poll_timeout_ms,
        )

    def take(self, answers: Mapping[TopicPartition, FetchedBatches]) -> list[Chunk]:
        """Take an answer; positions advance, and the next fetch leaves out ranges that are done."""
        chunks = []
        has_moved = False
        for partition, answer in answers.items():
            cursor = self._cursors[partition]
            before = cursor.position
            if answer.error is not None:
                cursor.empty_answers = 0
                self._failed(partition, cursor, answer.error)
            elif answer.batches:
                chunks.append(Chunk(cursor.range._replace(start=cursor.position), answer))
                self._advance(cursor, answer)
            has_moved = has_moved or cursor.position > before
        self._idle_answers = 0 if has_moved else min(self._idle_answers + 1, IDLE_ANSWERS_MAX)
        if has_moved:
            self._progress_s = self._now_s()
        else:
            self._got_nothing(answers)
        self._cursors = {
            partition: cursor for partition, cursor in self._cursors.items() if cursor.position < cursor.range.until
        }
        return chunks

    def _advance(self, cursor: _Cursor, answer: FetchedBatches) -> None:
        try:
            headers = batch_headers(answer.batches)
        except CorruptRecords as error:
            raise PipelineError(f"{cursor.range.topic_partition}: a record batch is damaged: {error.message}") from None
        following = int(headers.base_offsets[-1] + headers.last_offset_deltas[-1]) + 1
        first = min(int(headers.base_offsets[0]), cursor.position)
        cursor.offset_bytes = len(answer.batches) / max(1, following - first)
        cursor.position = max(cursor.position, following)
        cursor.empty_answers = 0

    def _got_nothing(self, answers: Mapping[TopicPartition, FetchedBatches]) -> None:
        """Handle an empty answer, which no size limit explains: a range may have no more records."""
        now_s = self._now_s()
        is_committed = self._options.isolation is IsolationLevel.READ_COMMITTED
        for partition, answer in answers.items():
            cursor = self._cursors[partition]
            end = answer.last_stable_offset if is_committed else answer.high_watermark
            has_looked = answer.error is None and answer.preferred_read_replica == NO_REPLICA
            if has_looked and not answer.batches and end >= cursor.range.until:
                cursor.note_empty(now_s)
            else:
                cursor.empty_answers = 0
        waiting = [
            cursor
            for cursor in self._cursors.values()
            if cursor.position < cursor.range.until and not cursor.empty_answers
        ]
        waited_ms = (now_s - self._progress_s) * 1000
        if waiting and waited_ms >= self._options.poll_timeout_ms:
            raise PipelineError(
                f"no records of {waiting[0].range} came from offset {waiting[0].position} on for "
                f"{self._options.poll_timeout_ms} ms (kafkaConsumer.pollTimeoutMs): check whether its broker is healthy"
            )

    def _failed(self, partition: TopicPartition, cursor: _Cursor, error: KafkaError) -> None:
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(partition, cursor)
        elif error.code in UNKNOWN:
            if self._now_s() - self._progress_s < LOSS_PATIENCE_S:
                return
            self._lost(cursor, f"{partition} is gone, with offsets {cursor.position} to {cursor.range.until - 1}")
            cursor.position = cursor.range.until
        elif error.code is not _NO_ANSWER:
            raise PipelineError(
                f"reading {cursor.range} failed at offset {cursor.position}: {error}"
                + (f" (tried for {self._options.poll_timeout_ms} ms)" if error.is_retriable else "")
            )

    def _out_of_range(self, partition: TopicPartition, cursor: _Cursor) -> None:
        with asking(f"asking where {partition} begins"):
            found = self._client.admin.list_offsets({partition: OffsetSpec.EARLIEST})[partition]
        if found.error is not None:
            raise PipelineError(f"asking where {partition} begins: {found.error}")
        # An offset that is not before the beginning is after the end: the log was truncated.
        following = found.offset if found.offset > cursor.position else cursor.range.until
        following = min(following, cursor.range.until)
        self._lost(
            cursor, f"offsets {cursor.position} to {following - 1} of {partition} are gone, it begins at {found.offset}"
        )
        cursor.position = following

    def _lost(self, cursor: _Cursor, what: str) -> None:
        text = f"data was lost while reading {cursor.range}: {what}"
        if self._options.fail_on_data_loss:
            raise PipelineError(f"{text} (by retention, or someone deleted them). {REMEDY}")
        logger.warning("%s; the query continues, because failOnDataLoss is false", text)
