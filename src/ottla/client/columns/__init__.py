"""Record batches to and from Arrow columns, for readers and writers of many records at a time.

Needs pyarrow (the extra `arrow`), and imports it when it is called. Columns:

    offset          int64
    timestamp       timestamp[ms, UTC]
    timestamp_type  int8       0 set by the producer, 1 by the broker
    key, value      binary     null where the record has none
    headers         list<struct<key: string, value: binary>>
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ottla.client.fetch_request import AbortedTransaction
from ottla.protocol.compression import Buffer, Codec
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

# As large as a producer's request may be by default, and below what topics accept by default.
BATCH_BYTES = 1_000_000
# Large enough that pieces are few, small enough for the memory of a task.
PIECE_BYTES = 16 * 1024 * 1024


def schema() -> "pa.Schema":
    """The columns of `batches_to_columns`."""
    _need_pyarrow()
    from ottla.client.columns.decoding import SCHEMA

    return SCHEMA


def batches_to_columns(
    batches: Buffer,
    *,
    from_offset: int = 0,
    until_offset: int | None = None,
    aborted: Sequence[AbortedTransaction] | None = None,
    check_crc: bool = True,
) -> "pa.RecordBatch":
    """Decode the records from an offset on, and before another; `aborted` is None for read_uncommitted."""
    _need_pyarrow()
    from ottla.client.columns.decoding import DATA_BYTES_MAX, decode, nothing

    pieces = decode(batches, from_offset, until_offset, aborted, check_crc=check_crc, bytes_max=DATA_BYTES_MAX)
    columns = next(pieces, None)
    if next(pieces, None) is not None:
        raise ValueError("these are more than 2 GiB of records, too many for one piece of columns: use iterate_columns")
    return nothing() if columns is None else columns


def iterate_columns(
    batches: Buffer,
    *,
    from_offset: int = 0,
    until_offset: int | None = None,
    aborted: Sequence[AbortedTransaction] | None = None,
    check_crc: bool = True,
    bytes_max: int = PIECE_BYTES,
) -> "Iterator[pa.RecordBatch]":
    """Decode in pieces, each of at most `bytes_max` of records, or of one batch; none is without rows."""
    _need_pyarrow()
    from ottla.client.columns.decoding import DATA_BYTES_MAX, decode

    bytes_max = min(bytes_max, DATA_BYTES_MAX)
    pieces = decode(batches, from_offset, until_offset, aborted, check_crc=check_crc, bytes_max=bytes_max)
    return (columns for columns in pieces if columns.num_rows)


def columns_to_batches(
    columns: "pa.RecordBatch | pa.Table",
    *,
    timestamp_ms: int,
    codec: Codec = Codec.NONE,
    compression_level: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytes:
    """Encode the columns `value` and, if there are any, `key`, `timestamp` and `headers`; others are ignored.

    `timestamp_ms` is for rows without a time. No batch has more than `batch_bytes` before compression, except for one
    record that is larger. Sequences continue from one batch to the next.
    """
    _need_pyarrow()
    from ottla.client.columns.encoding import BatchForm, encode

    form = BatchForm(codec, compression_level, batch_bytes, producer_id, producer_epoch, is_transactional)
    return b"".join(encode(columns, timestamp_ms, base_sequence, form))


def partitions_of_keys(keys: "pa.Array", partition_count: int) -> "npt.NDArray[np.int32]":
    """Find the partition of each key, as Kafka's own producers choose it; -1 where there is no key."""
    _need_pyarrow()
    from ottla.client.columns.key_partitions import partitions

    return partitions(keys, partition_count)


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError("Arrow columns need pyarrow: pip install '.[arrow]' in a clone of Ottla") from error
