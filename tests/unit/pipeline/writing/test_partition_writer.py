from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import numpy as np
import pyarrow as pa
import pytest

from ottla.client.columns import batches_to_columns, columns_to_batches
from ottla.client.produce_request import Produced
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.writing import partition_writer
from ottla.pipeline.writing.partition_writer import PartitionWriter, split_first_batch, stamp_producer
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import MAX_SEQUENCE, crc_is_valid, iterate_headers
from ottla.protocol.topic_partition import TopicPartition

MIB = 1 << 20


class Member:
    """Somebody who may write everywhere."""

    identity = ProducerIdentity(1, 0)
    transactional_id = None
    acks = -1

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(targets, 0)

    def replacement(self) -> None:
        return None


class LazyBroker:
    """Answers a request when somebody waits for it, and not before."""

    def __init__(self) -> None:
        self.unanswered_bytes = 0
        self.most_unanswered_bytes = 0
        self.requests: list[TopicPartition] = []

    def start_produce_batches(
        self,
        topic: str,
        partition: int,
        batches: bytes,
        *,
        transactional_id: str | None,
        acks: int,
        may_repeat: bool,
    ) -> Future[tuple[Produced, ...]]:
        self.unanswered_bytes += len(batches)
        self.most_unanswered_bytes = max(self.most_unanswered_bytes, self.unanswered_bytes)
        self.requests.append(TopicPartition(topic, partition))
        return LateAnswer(self, len(batches))


class LateAnswer(Future[tuple[Produced, ...]]):
    def __init__(self, broker: LazyBroker, size_bytes: int) -> None:
        super().__init__()
        self._broker = broker
        self._size_bytes = size_bytes

    def result(self, timeout: float | None = None) -> tuple[Produced, ...]:
        self._broker.unanswered_bytes -= self._size_bytes
        return ()


class Stream:
    """Batches of rows for a writer, and the most that Arrow has held when the next one was asked for."""

    def __init__(self, partitions: list[list[int]], value_bytes: int) -> None:
        self._partitions = partitions
        self._value_bytes = value_bytes
        self.held_bytes = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        before = pa.total_allocated_bytes()
        for partitions in self._partitions:
            count, size = len(partitions), self._value_bytes
            bounds = pa.py_buffer(np.arange(0, (count + 1) * size, size, dtype=np.int32))
            values = pa.Array.from_buffers(pa.binary(), count, [None, bounds, pa.allocate_buffer(count * size)])
            batch = pa.RecordBatch.from_arrays([values, pa.array(partitions, pa.int32())], ["value", "partition"])
            del values
            yield batch
            del batch
            self.held_bytes = max(self.held_bytes, pa.total_allocated_bytes() - before)


def written(stream: Stream, broker: LazyBroker) -> dict[TopicPartition, int]:
    writer = PartitionWriter(broker, WriteOptions(ClusterOptions("a:1")), Member(), "t")
    return {row.target: row.records for row in writer.write(iter(stream))}


def test_a_row_that_waits_does_not_hold_those_that_came_with_it() -> None:
    stream = Stream([[1, *[0] * 999]] * 100, value_bytes=2_000)
    assert written(stream, LazyBroker()) == {TopicPartition("t", 0): 99_900, TopicPartition("t", 1): 100}
    # The last batch and its copy, and some rows.
    assert stream.held_bytes < 6 * MIB


def test_what_waits_and_what_is_on_its_way_is_bounded_with_any_number_of_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partition_writer, "BUFFER_BYTES_MAX", MIB)
    partitions = 64
    stream, broker = Stream([[*range(partitions)] * 4] * 40, value_bytes=2_000), LazyBroker()
    assert written(stream, broker) == {TopicPartition("t", number): 160 for number in range(partitions)}
    assert stream.held_bytes < 2 * MIB
    assert MIB // 4 < broker.most_unanswered_bytes < MIB * 5 // 4
    assert broker.unanswered_bytes == 0
    # Not one small request for every row.
    assert len(broker.requests) < partitions * 40


def test_rows_here_and_there_count_for_the_memory_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_writer, "BUFFER_BYTES_MAX", MIB)
    broker = LazyBroker()
    assert written(Stream([[0, 1]] * 1_000, value_bytes=1), broker)
    # 2,000 pieces of a byte are some megabytes.
    assert len(broker.requests) > 2


ROWS = pa.record_batch({"value": pa.array([b"%04d" % number * 50 for number in range(10)])})


def made_batches(batch_bytes: int, codec: Codec = Codec.NONE) -> bytes:
    identity = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 40}
    return columns_to_batches(ROWS, timestamp_ms=5, codec=codec, batch_bytes=batch_bytes, **identity)


def test_the_first_of_several_batches_is_split_off() -> None:
    batches = made_batches(1_000)
    first, others = split_first_batch(batches)
    assert first + others == batches
    assert len(list(iterate_headers(first))) == 1


def test_one_batch_stays_as_it_is() -> None:
    assert split_first_batch(made_batches(100_000)) == [made_batches(100_000)]


def test_batches_of_another_producer_differ_in_nothing_else() -> None:
    batches = made_batches(1_000, Codec.LZ4)
    others = stamp_producer(batches, ProducerIdentity(8, 1), MAX_SEQUENCE - 3)
    before, after = ([header for _, header in iterate_headers(found)] for found in (batches, others))
    assert [header.record_count for header in after] == [header.record_count for header in before] == [4, 4, 2]
    assert [(header.producer_id, header.producer_epoch, header.base_sequence) for header in after] == [
        (8, 1, MAX_SEQUENCE - 3),
        (8, 1, 0),
        (8, 1, 4),
    ]
    assert all(crc_is_valid(others, header, at) for at, header in iterate_headers(others))
    assert batches_to_columns(others) == batches_to_columns(batches)
