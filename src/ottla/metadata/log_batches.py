"""Batches of the metadata log: encodes raft's contents as record batches, and decodes them into records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ottla.metadata.control_records import ControlRecord, decode_control_record, encode_control_record
from ottla.metadata.record_serde import UnreadableMetadata, decode_record
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    batch_records,
    crc_is_valid,
    iterate_headers,
    parse_header,
)
from ottla.protocol.records import CorruptRecords
from ottla.protocol.schema import Message
from ottla.raft.batch import (
    Batch,
    ControlContent,
    ControlRecordsContent,
    KRaftVersionContent,
    LeaderChangeContent,
    OpaqueContent,
    VotersContent,
)


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """One batch, opened: either control records or metadata records."""

    base_offset: int
    end_offset: int
    epoch: int
    timestamp_ms: int
    size_bytes: int
    control: Sequence[ControlRecord]
    records: Sequence[Message]


def encode_log_batch(batch: Batch, timestamp_ms: int) -> Buffer:
    content = batch.content
    if isinstance(content, OpaqueContent):
        return content.data
    if isinstance(content, ControlRecordsContent):
        return encode_control_batch(content.records, batch.base_offset, batch.epoch, timestamp_ms)
    return encode_values(content.values, batch.base_offset, batch.epoch, timestamp_ms)


def encode_control_batch(
    records: Sequence[ControlRecord], base_offset: int, epoch: int, timestamp_ms: int
) -> bytearray:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch, is_control=True)
    for record in records:
        key, value = encode_control_record(record)
        builder.append(key, value, timestamp_ms=timestamp_ms)
    return builder.build()


def encode_values(values: Sequence[bytes], base_offset: int, epoch: int, timestamp_ms: int) -> bytearray:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for value in values:
        builder.append(None, value, timestamp_ms=timestamp_ms)
    return builder.build()


@dataclass(frozen=True, slots=True)
class LocatedControl:
    """The control records of one batch."""

    base_offset: int
    records: tuple[ControlContent, ...]


@dataclass(frozen=True, slots=True)
class ControlScan:
    """The control records of some batches, and where these end."""

    control: tuple[LocatedControl, ...]
    end_offset: int


def read_control_records(buffer: Buffer) -> ControlScan:
    """Opens the control batches of a buffer alone; UnreadableMetadata when one is damaged or unknown."""
    found: list[LocatedControl] = []
    end_offset = -1
    try:
        for position, header in iterate_headers(buffer):
            end_offset = header.next_offset
            if header.is_control:
                _check_crc(buffer, header, position)
                records = [decode_control_record(r.key, r.value) for r in batch_records(buffer, header, position)]
                found.append(LocatedControl(header.base_offset, tuple(map(_log_content, records))))
    except CorruptRecords as error:
        raise UnreadableMetadata(f"the metadata log is damaged: {error.message}") from error
    return ControlScan(tuple(found), end_offset)


def read_opaque_batches(buffer: Buffer) -> tuple[Batch, ...]:
    """The whole batches that a leader sent, unopened but for control records; UnreadableMetadata if one is damaged.

    The last one may be cut off.
    """
    found: list[Batch] = []
    position = 0
    try:
        while position + HEADER_BYTES <= len(buffer):
            header = parse_header(buffer, position)
            end = position + header.size_bytes
            if end > len(buffer):
                break
            _check_crc(buffer, header, position)
            data = bytes(buffer[position:end])
            control = read_control_records(data).control if header.is_control else ()
            records = tuple(record for located in control for record in located.records)
            count = header.last_offset_delta + 1
            found.append(Batch(header.base_offset, count, header.leader_epoch, OpaqueContent(data, records)))
            position = end
    except CorruptRecords as error:
        raise UnreadableMetadata(f"a batch of the leader is damaged: {error.message}") from error
    return tuple(found)


def _log_content(record: ControlRecord) -> ControlContent:
    if isinstance(record, LeaderChangeContent | KRaftVersionContent | VotersContent):
        return record
    raise UnreadableMetadata(f"{type(record).__name__} belongs in a snapshot, not in the log")


def _check_crc(buffer: Buffer, header: BatchHeader, position: int) -> None:
    if not crc_is_valid(buffer, header, position):
        raise UnreadableMetadata(f"the metadata batch at offset {header.base_offset} has a wrong checksum")


def read_metadata_batches(buffer: Buffer) -> Iterator[MetadataBatch]:
    """Opens every batch of a buffer; UnreadableMetadata when one is damaged or unknown."""
    try:
        for position, header in iterate_headers(buffer):
            _check_crc(buffer, header, position)
            records = list(batch_records(buffer, header, position))
            control: list[ControlRecord] = []
            data: list[Message] = []
            if header.is_control:
                control = [decode_control_record(record.key, record.value) for record in records]
            else:
                data = [decode_record(record.value or b"") for record in records]
            yield MetadataBatch(
                header.base_offset,
                header.next_offset,
                header.leader_epoch,
                header.max_timestamp,
                header.size_bytes,
                control,
                data,
            )
    except CorruptRecords as error:
        raise UnreadableMetadata(f"the metadata log is damaged: {error.message}") from error
