"""Reading the rows of one split on an executor: fetch, decode, hand to Spark, with the next fetch under way."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ottla.client.columns import iterate_columns
from ottla.client.offsets import IsolationLevel
from ottla.client.sync import Client
from ottla.pipeline.cluster_clients import asking, client_of
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.options import ReadOptions
from ottla.pipeline.source.ranges import OffsetRange
from ottla.pipeline.source.row_schema import RowMaker
from ottla.pipeline.source.split_fetches import Chunk, SplitFetches
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.protocol.records import CorruptRecords

if TYPE_CHECKING:
    import pyarrow as pa

# Of records, decompressed, in one piece of columns: what a task holds beside the fetch that it came from.
SPLIT_PIECE_BYTES = 1024 * 1024


def read_split(ranges: Sequence[OffsetRange], options: ReadOptions) -> "Iterator[pa.RecordBatch]":
    """All records of the ranges, each range in its order."""
    rows = RowMaker(include_headers=options.include_headers)
    fetches = SplitFetches(_connected(options), ranges, options, time.monotonic)
    pending = fetches.start()
    try:
        while pending is not None:
            with asking("fetching records"):
                answers = pending.result()
            chunks = fetches.take(answers)
            pending = None
            if fetches.has_more:
                time.sleep(fetches.pause_s)
                pending = fetches.start()
            for chunk in chunks:
                yield from _rows(chunk, rows, options)
        freeze_imports()
    finally:
        # Spark may not want all rows.
        if pending is not None:
            pending.cancel()


def _rows(chunk: Chunk, rows: RowMaker, options: ReadOptions) -> "Iterator[pa.RecordBatch]":
    is_committed = options.isolation is IsolationLevel.READ_COMMITTED
    one = chunk.range
    pieces = iterate_columns(
        chunk.fetched.batches,
        from_offset=one.start,
        until_offset=one.until,
        aborted=chunk.fetched.aborted if is_committed else None,
        check_crc=options.check_crc,
        bytes_max=SPLIT_PIECE_BYTES,
    )
    try:
        for columns in pieces:
            yield rows.rows(one.topic, one.partition, columns)
    except CorruptRecords as error:
        raise PipelineError(f"{one.topic_partition}: a record batch is damaged: {error.message}") from None


def _connected(options: ReadOptions) -> Client:
    """Connect patiently: the driver just reached the cluster, so if it cannot be reached now it may be restarting."""
    with asking("connecting to the cluster"):
        return client_of(options.cluster, options.poll_timeout_ms / 1000)
