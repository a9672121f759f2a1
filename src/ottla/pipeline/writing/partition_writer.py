"""Rows of one task into the partitions of topics, in whatever role: one of many in a transaction, or by itself.

The batches of a partition are written in order, one request at a time, with sequences that go on from the first number
that the role gives; a request that is not answered is repeated, and the broker recognises it. Several partitions are
written to at the same time, and the next batches are built meanwhile. `write` returns when all of it is answered.

What a task holds is bounded, however many partitions there are and however unevenly rows go to them: rows that wait to
be written and batches on their way count together (BUFFER_BYTES_MAX). A row that waits holds nothing but itself, so the
rows of each partition are copied out of the batch that Spark handed over.
"""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from ottla.client.columns import columns_to_batches
from ottla.client.metadata import TopicPartition
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.record_batch import MAX_SEQUENCE, NO_SEQUENCE

if TYPE_CHECKING:
    from ottla.client.produce_request import Produced

# Rows of all partitions of a task that wait to be written, and batches that are not answered yet. Beside them there is
# the batch of rows that Spark has handed over last.
BUFFER_BYTES_MAX: Final = 64 << 20
# Of memory, for some rows of one partition in one batch of Spark's, beside their bytes: measured, for four columns.
_PIECE_OVERHEAD_BYTES: Final = 3_000


@dataclass(frozen=True, slots=True)
class Written:
    """What a task wrote into one partition."""

    target: TopicPartition
    records: int
    next_sequence: int
    size_bytes: int


class Role(Protocol):
    """As whom a task writes."""

    @property
    def identity(self) -> ProducerIdentity:
        """The producer of the records, known once a partition was joined."""

    @property
    def transactional_id(self) -> str | None: ...

    @property
    def acks(self) -> int: ...

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Before the first record goes to partitions: the sequence that each begins with, NO_SEQUENCE for none."""


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
            self._partitions |= {target: _Partition(first[target]) for target in new}
        for target, part in rows:
            partition = self._partitions[target]
            self._buffered_bytes += partition.add(part)
            if partition.rows_bytes >= self._options.batch_bytes:
                self._send(target)
            self._make_room()

    def _make_room(self) -> None:
        """Wait for the oldest answers until what is held is in its bounds; send rows before, if nothing else helps."""
        while self._buffered_bytes + self._requests_bytes > BUFFER_BYTES_MAX:
            if not self._requests:
                # Half of it, so that many answers are waited for at a time.
                while self._buffered_bytes > BUFFER_BYTES_MAX // 2:
                    self._send(max(self._partitions, key=lambda target: self._partitions[target].buffered_bytes))
            self._wait(next(iter(self._requests)))

    def _send(self, target: TopicPartition) -> None:
        partition = self._partitions[target]
        if not partition.buffered:
            return
        role, options = self._role, self._options
        rows = pa.Table.from_batches(partition.buffered)
        batches = columns_to_batches(
            rows,
            timestamp_ms=time.time_ns() // 1_000_000,
            codec=options.codec,
            compression_level=options.compression_level,
            batch_bytes=options.batch_bytes,
            producer_id=role.identity.producer_id,
            producer_epoch=role.identity.producer_epoch,
            base_sequence=partition.sequence,
            is_transactional=role.transactional_id is not None,
        )
        self._buffered_bytes -= partition.clear()
        self._wait(target)
        answer = self._client.start_produce_batches(
            target.topic,
            target.partition,
            batches,
            transactional_id=role.transactional_id,
            acks=role.acks,
            may_repeat=True,
        )
        self._requests[target] = _Request(answer, len(batches))
        self._requests_bytes += len(batches)
        if partition.sequence != NO_SEQUENCE:
            partition.sequence = (partition.sequence + rows.num_rows) & MAX_SEQUENCE
        partition.records += rows.num_rows
        partition.written_bytes += len(batches)

    def _wait(self, target: TopicPartition) -> None:
        request = self._requests.pop(target, None)
        if request is not None:
            self._requests_bytes -= request.size_bytes
            with explained_refusals(target, self._role.transactional_id):
                request.answer.result()


@dataclass(frozen=True, slots=True)
class _Request:
    """Batches of one partition on their way."""

    answer: "Future[tuple[Produced, ...]]"
    size_bytes: int


class _Partition:
    """What waits for one partition, and what went there."""

    __slots__ = ("buffered", "buffered_bytes", "records", "rows_bytes", "sequence", "written_bytes")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.records = 0
        self.written_bytes = 0
        self.buffered: list[pa.RecordBatch] = []
        self.rows_bytes = 0
        # In memory, which is more for a row here and a row there.
        self.buffered_bytes = 0

    def add(self, part: pa.RecordBatch) -> int:
        """The bytes that these rows hold from now on."""
        held = int(part.nbytes) + _PIECE_OVERHEAD_BYTES
        self.buffered.append(part)
        self.rows_bytes += part.nbytes
        self.buffered_bytes += held
        return held

    def clear(self) -> int:
        """The bytes that are held no more."""
        held = self.buffered_bytes
        self.buffered, self.rows_bytes, self.buffered_bytes = [], 0, 0
        return held


def by_target(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """The rows of each partition, in their order; none keeps the memory of another partition's from being freed."""
    partitions = batch.column("partition").to_numpy(zero_copy_only=False)
    topics = [topic]
    numbers = np.zeros(len(partitions), np.int64)
    if topic is None:
        encoded = batch.column("topic").dictionary_encode()
        topics = encoded.dictionary.to_pylist()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    places = (numbers << 32) | partitions
    if len(places) and (places == places[0]).all():
        yield TopicPartition(str(topics[numbers[0]]), int(partitions[0])), batch
        return
    order = np.argsort(places, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(places[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start < end:
            row = order[start]
            yield (
                TopicPartition(str(topics[numbers[row]]), int(partitions[row])),
                batch.take(pa.array(order[start:end])),
            )
