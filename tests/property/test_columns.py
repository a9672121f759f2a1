"""Columns are the records that the reader of single records finds, and become the batches that BatchBuilder builds."""

from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.columns import batches_to_columns, columns_to_batches, iterate_columns, partitions_of_keys
from ottla.client.fetch_request import AbortedTransaction
from ottla.client.partitioner import partition_for_key
from ottla.client.records import NewRecord, decode_records
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec, compress
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import (
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    encode_batch,
    iterate_headers,
    set_base_offset,
)
from ottla.protocol.records import CorruptRecords, Record, encode_records

Row = tuple[int, int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]

# Lengths whose varints take one, two and three bytes.
blobs = st.none() | st.binary(max_size=100) | st.sampled_from([bytes(64), b"x" * 8191, b"y" * 8192])
names = st.sampled_from(["", "h", "name", "имя", "\U0001f30a"])
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=70)), max_size=3).map(tuple)
many_headers = headers | st.integers(30, 40).map(lambda count: tuple((f"h{number}", None) for number in range(count)))
times = st.integers(0, 2**41) | st.integers(-(2**60), 2**60)


@dataclass(frozen=True)
class Batch:
    """A batch as a log may hold it after compaction: offsets have gaps, and times go anywhere."""

    records: tuple[Record, ...]
    codec: Codec
    flags: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int

    @property
    def offsets(self) -> int:
        return 1 + max((record.offset_delta for record in self.records), default=0)

    def stored(self, base_offset: int) -> bytes:
        flags = self.codec | self.flags
        where = (base_offset, 0, 0, MAGIC, 0)
        about = (flags, self.offsets - 1, self.base_timestamp, self.max_timestamp, self.producer_id, 0, -1)
        payload = compress(self.codec, encode_records(self.records))
        return bytes(encode_batch(BatchHeader(*where, *about, len(self.records)), payload))


@st.composite
def batch(draw: st.DrawFn) -> Batch:
    deltas = sorted(draw(st.sets(st.integers(0, 70) | st.integers(0, 2**31 - 1), max_size=6)))
    one = st.tuples(st.integers(-70, 70) | times, blobs, blobs, many_headers)
    records = tuple(Record(time, delta, *rest) for delta in deltas for time, *rest in [draw(one)])
    flags = draw(st.sampled_from([0, 0, LOG_APPEND_TIME_FLAG, TRANSACTIONAL_FLAG]))
    return Batch(records, draw(st.sampled_from(Codec)), flags, draw(times), draw(times), draw(st.integers(1, 2)))


@dataclass(frozen=True)
class Log:
    """Batches and markers one behind the other, and what a broker says was aborted of it."""

    batches: bytes
    aborted: list[AbortedTransaction] | None
    end_offset: int


@st.composite
def log(draw: st.DrawFn) -> Log:
    parts, offset = [], draw(st.integers(0, 1_000))
    starts = [offset]
    for item in draw(st.lists(batch() | st.tuples(st.integers(1, 2), st.booleans()), max_size=6)):
        if isinstance(item, Batch):
            parts.append(item.stored(offset))
            offset += item.offsets
        else:
            producer_id, is_commit = item
            marker = end_txn_batch(
                producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=0
            )
            set_base_offset(marker, offset)
            parts.append(bytes(marker))
            offset += 1
        starts.append(offset)
    transactions = st.builds(AbortedTransaction, st.integers(1, 2), st.sampled_from(starts))
    return Log(b"".join(parts), draw(st.none() | st.lists(transactions, max_size=3)), offset)


def rows(columns: pa.RecordBatch) -> list[Row]:
    columns.validate(full=True)
    timestamps = columns.column("timestamp").cast(pa.int64()).to_pylist()
    named = [columns.column(name).to_pylist() for name in ("offset", "timestamp_type", "key", "value", "headers")]
    return [
        (offset, timestamp, kind, key, value, tuple((pair["key"], pair["value"]) for pair in pairs))
        for timestamp, offset, kind, key, value, pairs in zip(timestamps, *named, strict=True)
    ]


def expected_rows(found: Log, from_offset: int = 0, until_offset: int | None = None) -> list[Row]:
    records = decode_records("t", 0, found.batches, from_offset=from_offset, aborted=found.aborted)
    return [
        (one.offset, one.timestamp_ms, one.timestamp_type, one.key, one.value, tuple(one.headers))
        for one in records
        if until_offset is None or one.offset < until_offset
    ]


@given(log(), st.data())
def test_the_columns_are_the_records(found: Log, data: st.DataObject) -> None:
    offsets = st.integers(0, found.end_offset + 1)
    from_offset, until_offset = data.draw(offsets), data.draw(st.none() | offsets)
    expected = expected_rows(found, from_offset, until_offset)
    wanted = {"from_offset": from_offset, "until_offset": until_offset, "aborted": found.aborted}
    assert rows(batches_to_columns(found.batches, **wanted)) == expected
    pieces = list(iterate_columns(memoryview(found.batches), bytes_max=data.draw(st.integers(1, 20_000)), **wanted))
    assert all(piece.num_rows for piece in pieces)
    assert [row for piece in pieces for row in rows(piece)] == expected


@given(st.lists(batch(), min_size=1, max_size=3), st.data())
def test_damage_is_refused_exactly_where_the_one_by_one_reader_refuses_it(
    found: list[Batch], data: st.DataObject
) -> None:
    """Bytes of the payload are changed where no compression hides them; checksums are made to fit."""
    parts = []
    for number, one in enumerate(found):
        plain = Batch(one.records, Codec.NONE, one.flags, 0, 0, one.producer_id).stored(number << 32)
        changed = bytearray(plain)
        for _ in range(data.draw(st.integers(0, 2)) if len(plain) > 61 else 0):
            changed[data.draw(st.integers(61, len(plain) - 1))] = data.draw(st.integers(0, 255))
        parts.append(bytes(changed))
    damaged = b"".join(parts)
    try:
        records = decode_records("t", 0, damaged, check_crc=False)
    except CorruptRecords:
        with pytest.raises(CorruptRecords):
            batches_to_columns(damaged, check_crc=False)
        return
    columns = batches_to_columns(damaged, check_crc=False)
    columns.validate(full=True)
    assert columns.column("value").to_pylist() == [one.value for one in records if one.offset >= 0]


new_records = st.lists(st.builds(NewRecord, blobs, blobs, times, many_headers), min_size=1, max_size=8)


def as_columns(written: list[NewRecord]) -> pa.RecordBatch:
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([one.key for one in written], pa.binary()),
            "value": pa.array([one.value for one in written], pa.binary()),
            "timestamp": pa.array([one.timestamp_ms for one in written], pa.int64()),
            "headers": pa.array([[{"key": k, "value": v} for k, v in one.headers] for one in written], pairs),
        }
    )


@given(new_records, st.sampled_from(Codec), st.integers(1, 30_000), st.integers(0, 2**31 - 1))
def test_batches_are_those_of_the_builder_byte_for_byte(
    written: list[NewRecord], codec: Codec, batch_bytes: int, sequence: int
) -> None:
    producer = {"producer_id": 7, "producer_epoch": 3, "is_transactional": True}
    made = columns_to_batches(
        as_columns(written), timestamp_ms=0, codec=codec, batch_bytes=batch_bytes, base_sequence=sequence, **producer
    )
    left = list(written)
    for position, header in iterate_headers(made):
        builder = BatchBuilder(codec=codec, base_sequence=sequence, **producer)
        for one in left[: header.record_count]:
            builder.append(one.key, one.value, timestamp_ms=one.timestamp_ms, headers=one.headers)
        assert builder.size_bytes <= batch_bytes or header.record_count == 1
        assert made[position : position + header.size_bytes] == builder.build()
        left = left[header.record_count :]
        sequence = (sequence + header.record_count) % 2**31
    assert left == []


@given(new_records, st.sampled_from(Codec), st.integers(1, 30_000))
def test_columns_survive_batches(written: list[NewRecord], codec: Codec, batch_bytes: int) -> None:
    made = columns_to_batches(as_columns(written), timestamp_ms=0, codec=codec, batch_bytes=batch_bytes)
    found = [(row[1], *row[3:]) for row in rows(batches_to_columns(made))]
    assert found == [(one.timestamp_ms, one.key, one.value, tuple(one.headers)) for one in written]


@given(st.lists(st.none() | st.binary(max_size=300)), st.integers(1, 2**31 - 1))
def test_keys_meet_the_partitions_of_the_producer(keys: list[bytes | None], count: int) -> None:
    expected = [-1 if key is None else partition_for_key(key, count) for key in keys]
    assert partitions_of_keys(pa.array(keys, pa.binary()), count).tolist() == expected
