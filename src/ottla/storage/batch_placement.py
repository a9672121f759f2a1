"""How batches get their offsets: a leader assigns them, a follower takes them over."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    PLACEMENT,
    PLACEMENT_BYTES,
    BatchHeader,
    crc_is_valid,
    iterate_headers,
    parse_header,
)
from ottla.protocol.records import CorruptRecords

# Batches of clients with the headers that were found in them, to be appended together.
ClientRun: TypeAlias = Sequence[tuple[memoryview, BatchHeader]]
# A batch's position in its buffer, and its header with the final offset and epoch.
PlacedBatch = tuple[int, BatchHeader]


def place_batches(records: Buffer, next_offset: int, leader_epoch: int) -> tuple[memoryview, list[PlacedBatch]]:
    """Copy whole batches, with consecutive offsets from the one given and all in one leader epoch."""
    placed = bytearray(records)
    batches = []
    for position, header in iterate_headers(placed):
        PLACEMENT.pack_into(placed, position, next_offset, header.batch_length, leader_epoch)
        batches.append((position, header._replace(base_offset=next_offset, leader_epoch=leader_epoch)))
        next_offset += header.last_offset_delta + 1
    if not batches:
        raise ValueError("there is no batch to append")
    return memoryview(placed), batches


def place_run(
    run: ClientRun, next_offset: int, leader_epoch: int
) -> tuple[list[bytes | memoryview], list[tuple[int, int, int]]]:
    """The bytes of batches with consecutive offsets, not copied; and size, last offset and latest time of each."""
    parts: list[bytes | memoryview] = []
    placed: list[tuple[int, int, int]] = []
    for records, header in run:
        _, batch_length, _, _, _, _, last_offset_delta, _, max_timestamp, _, _, _, _ = header
        parts += (PLACEMENT.pack(next_offset, batch_length, leader_epoch), records[PLACEMENT_BYTES:])
        last_offset = next_offset + last_offset_delta
        placed.append((batch_length + LOG_OVERHEAD_BYTES, last_offset, max_timestamp))
        next_offset = last_offset + 1
    return parts, placed


def placed_batches(
    records: Buffer, next_offset: int, leader_epoch: int | None = None
) -> tuple[memoryview, list[PlacedBatch]]:
    """Check the whole batches of a leader: their checksums match, and their offsets ascend from the one given.

    What follows the last whole batch is left out: a fetch may end in the middle of one. With a `leader_epoch`, so is
    everything from the first batch of a later epoch on: it is not of the leader that was asked (KAFKA-18723).
    """
    view = memoryview(records)
    batches = []
    position, end = 0, len(view)
    while end - position >= HEADER_BYTES:
        header = parse_header(view, position)
        size = header.size_bytes
        if position + size > end or (leader_epoch is not None and header.leader_epoch > leader_epoch):
            break
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            raise CorruptRecords(f"offset {header.base_offset} is in the log already, which goes to {next_offset}")
        if not crc_is_valid(view, header, position):
            raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not match")
        batches.append((position, header))
        next_offset = header.next_offset
        position += size
    return view[:position], batches


def split_batches(batches: list[PlacedBatch], max_bytes: int) -> Iterator[list[PlacedBatch]]:
    """Group neighbours that fit into one segment; a batch that is too large for a segment forms its own group."""
    part: list[PlacedBatch] = []
    for position, header in batches:
        if part and position + header.size_bytes - part[0][0] > max_bytes:
            yield part
            part = []
        part.append((position, header))
    yield part
