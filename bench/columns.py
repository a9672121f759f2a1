"""CPU time per record between record batches and Arrow columns, beside readers and writers of single records.

Run: python bench/columns.py [rounds]. The sizes of values lie around the one named. Each number is the best of the
rounds: what the code costs when nothing disturbs it.
"""

import random
import sys
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from ottla.client.columns import batches_to_columns, columns_to_batches, iterate_columns, partitions_of_keys
from ottla.client.records import decode_records
from ottla.pipeline.source.reading import SPLIT_PIECE_BYTES
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import set_base_offset

TOTAL_BYTES = 8 * 1024 * 1024
NOW_MS = 1_700_000_000_000
VALUE_BYTES = (100, 1024)
RECORDS_PER_BATCH = (1, 10, 150, 5_000)
CODECS = (Codec.NONE, Codec.LZ4, Codec.ZSTD)
WORDS = [b"order", b"customer", b"street", b"price", b"2026-11-15", b"null", b"delivered", b'{"id": ', b"}", b", "]

Row = tuple[int, bytes, bytes]


def report(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def rows_of(value_bytes: int) -> list[Row]:
    chance = random.Random(value_bytes)
    text = b" ".join(chance.choices(WORDS, k=100_000))
    rows = []
    for number in range(TOTAL_BYTES // (value_bytes + 30)):
        size, at = chance.randrange(value_bytes // 2, value_bytes * 3 // 2), chance.randrange(len(text) // 2)
        rows.append((NOW_MS + number // 10, b"key-%08d" % number, text[at : at + size]))
    return rows


def batches_of(rows: list[Row], per_batch: int, codec: Codec) -> bytes:
    made = bytearray()
    for first in range(0, len(rows), per_batch):
        builder = BatchBuilder(codec=codec)
        for timestamp_ms, key, value in rows[first : first + per_batch]:
            builder.append(key, value, timestamp_ms=timestamp_ms)
        batch = builder.build()
        set_base_offset(batch, first)
        made += batch
    return bytes(made)


def cpu_ns(work: Callable[[], object], count: int, rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best / count * 1e9


def read_in_pieces(batches: bytes) -> None:
    for _ in iterate_columns(batches, bytes_max=SPLIT_PIECE_BYTES):
        pass


def read_compiled(batches: bytes) -> None:
    """Every record of aiokafka's compiled reader, with its key and value."""
    memory = MemoryRecords(batches)
    while (batch := memory.next_batch()) is not None:
        batch.validate_crc()
        for record in batch:
            _ = (record.offset, record.timestamp, record.key, record.value)


def write_compiled(rows: list[Row], per_batch: int, codec: Codec) -> None:
    for first in range(0, len(rows), per_batch):
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=codec,
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 30,
        )
        for number, (timestamp_ms, key, value) in enumerate(rows[first : first + per_batch]):
            builder.append(number, timestamp_ms, key, value, [])
        builder.build()


def measure_decoding(value_bytes: int, rounds: int) -> None:
    report(f"\ndecoding, values of {value_bytes} bytes: ns per record")
    report(f"{'codec':>6} {'a batch':>8} {'columns':>9} {'pieces':>9} {'compiled':>9} {'records':>9}")
    rows = rows_of(value_bytes)
    for codec in CODECS:
        for per_batch in RECORDS_PER_BATCH:
            batches = batches_of(rows, per_batch, codec)
            ways: list[Callable[[], object]] = [
                partial(batches_to_columns, batches),
                partial(read_in_pieces, batches),
                partial(read_compiled, batches),
                partial(decode_records, "t", 0, batches),
            ]
            costs = [cpu_ns(way, len(rows), rounds) for way in ways]
            report(f"{codec.name.lower():>6} {per_batch:>8} " + " ".join(f"{cost:9.0f}" for cost in costs))


def measure_encoding(value_bytes: int, rounds: int) -> None:
    report(f"\nencoding, values of {value_bytes} bytes: ns per record")
    report(f"{'codec':>6} {'a batch':>8} {'columns':>9} {'compiled':>9} {'writer':>9}")
    rows = rows_of(value_bytes)
    times, keys, values = zip(*rows, strict=True)
    columns = pa.record_batch({"timestamp": pa.array(times), "key": pa.array(keys), "value": pa.array(values)})
    for codec in CODECS:
        for per_batch in RECORDS_PER_BATCH:
            batch_bytes = per_batch * (value_bytes + 30)
            ways: list[Callable[[], object]] = [
                partial(columns_to_batches, columns, timestamp_ms=0, codec=codec, batch_bytes=batch_bytes),
                partial(write_compiled, rows, per_batch, codec),
                partial(batches_of, rows, per_batch, codec),
            ]
            costs = [cpu_ns(way, len(rows), rounds) for way in ways]
            report(f"{codec.name.lower():>6} {per_batch:>8} " + " ".join(f"{cost:9.0f}" for cost in costs))
    report(
        f"partitions of keys: {cpu_ns(lambda: partitions_of_keys(columns.column('key'), 12), len(rows), rounds):.0f}"
    )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for value_bytes in VALUE_BYTES:
        measure_decoding(value_bytes, rounds)
        measure_encoding(value_bytes, rounds)


if __name__ == "__main__":
    main()
