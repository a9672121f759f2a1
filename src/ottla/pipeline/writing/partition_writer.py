"""Rows of one task into the partitions of topics, in whatever role: one of many in a transaction, or by itself.

The batches of a partition are written in order, one request at a time, with sequences that go on from the first number
that the role gives; a request that is not answered is repeated, and the broker recognises it. Several partitions are
written to at the same time, and the next batches are built meanwhile. `write` returns when all of it is answered.
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
from ottla.client.sync import Client
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.record_batch import MAX_SEQUENCE, NO_SEQUENCE

if TYPE_CHECKING:
    from ottla.client.produce_request import Produced

# Rows of all partitions of a task that wait to be written, however many partitions there are.
BUFFER_BYTES_MAX: Final = 64 << 20


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


class PartitionWriter:
    """Writes rows once; each has a number in its column `partition`, and its topic in `topic` if none is given here."""

    def __init__(self, client: Client, options: WriteOptions, role: Role, topic: str | None) -> None:
        self._client = client
        self._options = options
        self._role = role
        self._topic = topic
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._buffered_bytes = 0

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[Written]:
        """Write all rows; PipelineError if one could not be written, or may not be."""
        try:
            for batch in batches:
                if batch.num_rows:
                    self._take(batch)
            for target in self._partitions:
                self._send(target)
            for target in self._partitions:
                self._wait(target)
        except BaseException:
            for partition in self._partitions.values():
                if partition.on_its_way is not None:
                    partition.on_its_way.cancel()
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
            partition.buffered.append(part)
            partition.buffered_bytes += part.nbytes
            self._buffered_bytes += part.nbytes
            if partition.buffered_bytes >= self._options.batch_bytes:
                self._send(target)
        while self._buffered_bytes > BUFFER_BYTES_MAX:
            self._send(max(self._partitions, key=lambda target: self._partitions[target].buffered_bytes))

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
        self._buffered_bytes -= partition.buffered_bytes
        partition.buffered, partition.buffered_bytes = [], 0
        self._wait(target)
        partition.on_its_way = self._client.start_produce_batches(
            target.topic,
            target.partition,
            batches,
            transactional_id=role.transactional_id,
            acks=role.acks,
            may_repeat=True,
        )
        if partition.sequence != NO_SEQUENCE:
            partition.sequence = (partition.sequence + rows.num_rows) & MAX_SEQUENCE
        partition.records += rows.num_rows
        partition.written_bytes += len(batches)

    def _wait(self, target: TopicPartition) -> None:
        partition = self._partitions[target]
        if partition.on_its_way is not None:
            with explained_refusals(target, self._role.transactional_id):
                partition.on_its_way.result()
            partition.on_its_way = None


class _Partition:
    """What waits for one partition, and what is on its way there."""

    __slots__ = ("buffered", "buffered_bytes", "on_its_way", "records", "sequence", "written_bytes")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.records = 0
        self.written_bytes = 0
        self.buffered: list[pa.RecordBatch] = []
        self.buffered_bytes = 0
        self.on_its_way: Future[tuple[Produced, ...]] | None = None


def by_target(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """The rows of each partition, in their order."""
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
    ordered = batch.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(np.diff(places[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start < end:
            row = order[start]
            yield TopicPartition(str(topics[numbers[row]]), int(partitions[row])), ordered.slice(start, end - start)
