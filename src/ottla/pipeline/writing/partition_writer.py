"""Writing the rows of one task into partitions, in either role: one of many in a transaction, or on its own.

The batches of a partition are written in order, one request at a time, with sequences that start at the number that the
role gives; a request that is not answered is repeated, and the broker recognises it. Several partitions are written to
at the same time, and the next batches are built meanwhile. `write` returns when all of it is answered.

A partition may refuse a batch that continues what an earlier task wrote as the same producer: a broker that lost its
last records does (OUT_OF_ORDER_SEQUENCE_NUMBER), and one before Kafka 2.5 that has forgotten the producer
(UNKNOWN_PRODUCER_ID; later ones accept any sequence then). So the first such batch is sent alone. If it is refused,
nothing of this task is there, since an attempt that was written but not answered would have been recognised; it is sent
again as another producer's first batch, if the role offers one. A later batch that is refused fails.

The memory of a task is bounded, however many partitions there are and however unevenly rows go to them: waiting rows
and batches under way count together (BUFFER_BYTES_MAX). A waiting row holds only its own memory, so the rows of each
partition are copied out of the batch that Spark handed over.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from ottla.client.columns import columns_to_batches
from ottla.client.errors import KafkaError
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.writing.partition_rows import by_target
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    MAX_SEQUENCE,
    NO_SEQUENCE,
    encode_batch,
    iterate_headers,
    parse_header,
)
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.client.produce_request import Produced

logger = logging.getLogger(__name__)

# Rows of all partitions of a task that wait to be written, and batches that are not answered yet. Beside them there is
# the batch of rows that Spark has handed over last.
BUFFER_BYTES_MAX: Final = 64 << 20
# Of memory, for some rows of one partition in one batch of Spark's, beside their bytes: measured, for four columns.
_PIECE_OVERHEAD_BYTES: Final = 3_000

_NOT_CONTINUED: Final = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})


@dataclass(frozen=True, slots=True)
class Written:
    """What a task wrote into one partition."""

    target: TopicPartition
    records: int
    next_sequence: int
    size_bytes: int


class Role(Protocol):
    """The producer that a task writes as."""

    @property
    def identity(self) -> ProducerIdentity:
        """The producer of the records, known once a partition was joined."""

    @property
    def transactional_id(self) -> str | None: ...

    @property
    def acks(self) -> int: ...

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Call this before the first record goes to partitions; returns the first sequence of each, or NO_SEQUENCE."""

    def replacement(self) -> ProducerIdentity | None:
        """Another identity, for partitions that refuse to continue with the first; None if there is none."""


class Broker(Protocol):
    """Where batches go: a client."""

    def start_produce_batches(
        self,
        topic: str,
        partition: int,
        batches: bytes,
        *,
        transactional_id: str | None,
        acks: int,
        may_repeat: bool,
    ) -> "Future[tuple[Produced, ...]]": ...


class PartitionWriter:
    """Writes rows once; each has a number in its column `partition`, and its topic in `topic` if none is given here."""

    def __init__(self, client: Broker, options: WriteOptions, role: Role, topic: str | None) -> None:
        self._client = client
        self._options = options
        self._role = role
        self._topic = topic
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._buffered_bytes = 0
        # The oldest first.
        self._requests: dict[TopicPartition, _Request] = {}
        self._requests_bytes = 0

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[Written]:
        """Write all rows; PipelineError if one could not be written, or may not be."""
        try:
            for batch in batches:
                if batch.num_rows:
                    self._take(batch)
            for target in self._partitions:
                self._send(target)
            for target in list(self._requests):
                self._wait(target)
        except BaseException:
            for request in self._requests.values():
                request.answer.cancel()
            raise
        return [
            Written(target, found.records, found.sequence, found.written_bytes)
            for target, found in self._partitions.items()
        ]

    def _take(self, batch: pa.RecordBatch) -> None:
        rows = list(by_target(batch, self._topic))
        if new := [target for target, _ in rows if target not in self._partitions]:
            first = self._role.join(new)
            self._partitions |= {target: _Partition(self._role.identity, first[target]) for target in new}
        for target, part in rows:
            partition = self._partitions[target]
            self._buffered_bytes += partition.add(part)
            if partition.rows_bytes >= self._options.batch_bytes:
                self._send(target)
            self._make_room()

    def _make_room(self) -> None:
        """Wait for the oldest answers until the memory is within its bound; send rows first if none is awaited."""
        while self._buffered_bytes + self._requests_bytes > BUFFER_BYTES_MAX:
            if not self._requests:
                # Send half of it, so that many answers are awaited at a time.
                while self._buffered_bytes > BUFFER_BYTES_MAX // 2:
                    self._send(max(self._partitions, key=lambda target: self._partitions[target].buffered_bytes))
            self._wait(next(iter(self._requests)))

    def _send(self, target: TopicPartition) -> None:
        partition = self._partitions[target]
        if not partition.buffered:
            return
        batches = self._encoded(partition)
        self._buffered_bytes -= partition.clear()
        partition.written_bytes += len(batches)
        for part in split_first_batch(batches) if partition.is_continued else (batches,):
            self._wait(target)
            self._start(target, part)

    def _encoded(self, partition: "_Partition") -> bytes:
        options = self._options
        return columns_to_batches(
            pa.Table.from_batches(partition.buffered),
            timestamp_ms=time.time_ns() // 1_000_000,
            codec=options.codec,
            compression_level=options.compression_level,
            batch_bytes=options.batch_bytes,
            producer_id=partition.identity.producer_id,
            producer_epoch=partition.identity.producer_epoch,
            base_sequence=partition.sequence,
            is_transactional=self._role.transactional_id is not None,
        )

    def _start(self, target: TopicPartition, batches: bytes) -> None:
        partition, role = self._partitions[target], self._role
        if parse_header(batches).producer_id != partition.identity.producer_id:
            # They were made before the partition was restarted as another producer.
            batches = stamp_producer(batches, partition.identity, partition.sequence)
        answer = self._client.start_produce_batches(
            target.topic,
            target.partition,
            batches,
            transactional_id=role.transactional_id,
            acks=role.acks,
            may_repeat=True,
        )
        self._requests[target] = _Request(answer, len(batches), batches if partition.is_continued else None)
        self._requests_bytes += len(batches)
        partition.is_continued = False
        if partition.sequence != NO_SEQUENCE:
            records = sum(header.record_count for _, header in iterate_headers(batches))
            partition.sequence = (partition.sequence + records) & MAX_SEQUENCE

    def _wait(self, target: TopicPartition) -> None:
        request = self._requests.pop(target, None)
        if request is None:
            return
        self._requests_bytes -= request.size_bytes
        with explained_refusals(target, self._role.transactional_id):
            try:
                request.answer.result()
            except KafkaError as error:
                if not self._restart_as_other(target, request, error):
                    raise

    def _restart_as_other(self, target: TopicPartition, request: "_Request", error: KafkaError) -> bool:
        """Write the batch as another producer, if that is the remedy."""
        if request.first is None or error.code not in _NOT_CONTINUED:
            return False
        identity = self._role.replacement()
        if identity is None:
            return False
        logger.warning("continuing to write to %s as another producer: %s", target, error)
        partition = self._partitions[target]
        partition.identity, partition.sequence = identity, 0
        self._start(target, request.first)
        self._wait(target)
        return True


@dataclass(frozen=True, slots=True)
class _Request:
    """Batches of one partition under way."""

    answer: "Future[tuple[Produced, ...]]"
    size_bytes: int
    # The batch that continues what an earlier task wrote.
    first: bytes | None


class _Partition:
    """What waits for one partition, and what went there."""

    def __init__(self, identity: ProducerIdentity, sequence: int) -> None:
        self.identity = identity
        self.sequence = sequence
        # Whether the next batch continues what another task has written.
        self.is_continued = sequence > 0
        self.records = 0
        self.written_bytes = 0
        self.buffered: list[pa.RecordBatch] = []
        self.rows_bytes = 0
        # In memory, which is more than the bytes of scattered rows.
        self.buffered_bytes = 0

    def add(self, part: pa.RecordBatch) -> int:
        """Add rows; returns the memory that they hold."""
        held = int(part.nbytes) + _PIECE_OVERHEAD_BYTES
        self.buffered.append(part)
        self.records += part.num_rows
        self.rows_bytes += part.nbytes
        self.buffered_bytes += held
        return held

    def clear(self) -> int:
        """Forget the rows; returns the memory that they held."""
        held = self.buffered_bytes
        self.buffered, self.rows_bytes, self.buffered_bytes = [], 0, 0
        return held


def split_first_batch(batches: bytes) -> list[bytes]:
    """Split off the first batch from the others, if there are any."""
    size_bytes = parse_header(batches).size_bytes
    return [part for part in (batches[:size_bytes], batches[size_bytes:]) if part]


def stamp_producer(batches: bytes, identity: ProducerIdentity, sequence: int) -> bytes:
    """Write another producer and its sequence into the headers of batches."""
    made = bytearray()
    for at, header in iterate_headers(batches):
        other = header._replace(
            producer_id=identity.producer_id, producer_epoch=identity.producer_epoch, base_sequence=sequence
        )
        made += encode_batch(other, memoryview(batches)[at + HEADER_BYTES : at + header.size_bytes])
        sequence = (sequence + header.record_count) & MAX_SEQUENCE
    return bytes(made)
