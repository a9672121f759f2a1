"""What a leader checks and changes in batches before they enter the log: a client's, and the broker's own.

`validate_client_batch` looks at the header and the checksum: cheap, for every batch, on the event loop. `needs_rewrite`
says whether the topic's settings require more; `rewrite_batch` then opens the batch and belongs in a thread. It is a
pure function: the settings and the time come as arguments, the result is the batch to append.

A batch is opened for the sake of its timestamps only if its header leaves a doubt: the header tells the latest one but
not the earliest. So message.timestamp.after.max.ms costs nothing, and message.timestamp.before.max.ms, unlimited unless
someone sets it, a look at every record.

The broker's own batches are well-formed. Of them only epochs, guards and markers are checked (`has_new_batches`).
"""

from collections.abc import Sequence

from crc32c import crc32c

from ottla.protocol.compression import Buffer, compress
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.primitives import read_varint, read_varlong
from ottla.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    decompressed_payload,
    encode_batch,
    make_header,
    parse_header,
)
from ottla.protocol.records import CorruptRecords
from ottla.storage.batch_placement import PlacedBatch
from ottla.storage.log_config import MAX_INT64, LogConfig
from ottla.storage.producer_state import AppendOrigin, ProducerStates
from ottla.storage.transaction_verification import VerificationGuard

_MAX_CODEC = 4


# What a produced batch may hold when it is opened. Producers limit a batch before they compress it, to a megabyte or
# so; a small batch of much more than this is made to hurt (CVE-2023-34455).
PRODUCED_BYTES_MAX = 64 * 1024 * 1024
PRODUCED_RECORDS_MAX = 1_000_000
# A client needs to know which records are wrong, not all nine million of them.
_RECORD_ERRORS_MAX = 100


class InvalidRecords(ApiError):
    """Single records of a batch are refused; `record_errors` says which, by index in the batch, and why."""

    def __init__(self, code: ErrorCode, record_errors: Sequence[tuple[int, str]]) -> None:
        count = len(record_errors)
        refused = "1 record of the batch is refused" if count == 1 else f"{count} records of the batch are refused"
        super().__init__(code, f"{refused}: {record_errors[0][1]}")
        self.record_errors = tuple(record_errors)


def validate_client_batch(records: Buffer, config: LogConfig) -> BatchHeader:
    """The header of the one batch in a partition's produce data; ApiError if it must not enter the log as it is."""
    size = len(records)
    if size < HEADER_BYTES:
        raise _invalid(f"{size} bytes of produce data hold no record batch.")
    if records[MAGIC_POSITION] != MAGIC:
        raise _invalid(f"Message format version {records[MAGIC_POSITION]} is not supported, only version {MAGIC} is.")
    # Every batch of every client passes here, so the header is taken apart at once.
    header = make_header(HEADER.unpack_from(records))
    base_offset, batch_length, _, _, crc, attributes, last_offset_delta, _, _, producer_id, _, base_sequence, count = (
        header
    )
    if size != batch_length + LOG_OVERHEAD_BYTES:
        raise _invalid(
            f"Produce data of a partition must be exactly one record batch: {size} bytes were sent, "
            f"the first batch takes {header.size_bytes}."
        )
    if size > config.max_message_bytes:
        raise _too_large(size, config)
    if crc32c(memoryview(records)[ATTRIBUTES_POSITION:]) != crc:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, "The checksum of the record batch does not fit its bytes.")
    if count != last_offset_delta + 1 or count <= 0 or base_offset != 0:
        raise _invalid(
            f"A record batch of {count} records must have the offsets 0 to {count - 1}; this one has base offset "
            f"{base_offset} and last offset delta {last_offset_delta}."
        )
    if attributes & CONTROL_FLAG:
        raise _invalid("Clients must not write control records.")
    if attributes & CODEC_MASK > _MAX_CODEC:
        raise CorruptRecords(f"Compression type {attributes & CODEC_MASK} is unknown.")
    if producer_id >= 0 and base_sequence < 0:
        raise _invalid(f"Producer {producer_id} sent the negative sequence {base_sequence}.")
    if attributes & LOG_APPEND_TIME_FLAG and config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        reason = "Producers must not claim that the broker set the timestamps."
        raise InvalidRecords(
            ErrorCode.INVALID_TIMESTAMP, [(number, reason) for number in range(min(count, _RECORD_ERRORS_MAX))]
        )
    return header


def needs_rewrite(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether the topic's settings require that the batch be opened or changed."""
    if config.takes_batches_as_sent:
        return (
            header.attributes & LOG_APPEND_TIME_FLAG != 0
            or header.max_timestamp - now_ms > config.message_timestamp_after_max_ms
        )
    return (
        config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
        or header.attributes & LOG_APPEND_TIME_FLAG != 0
        or needs_opening(header, config, now_ms)
    )


def needs_opening(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether a rewrite must look at the records, which takes long enough for a thread; a new header does not."""
    return (
        config.is_compacted
        or (config.compression_type is not None and config.compression_type != header.attributes & CODEC_MASK)
        or _may_be_misdated(header, config, now_ms)
    )


def rewrite_batch(records: Buffer, header: BatchHeader, config: LogConfig, now_ms: int) -> tuple[Buffer, BatchHeader]:
    """The batch as the topic wants it: keys and times checked, compressed as configured, stamped where it says so."""
    payload: Buffer = memoryview(records)[HEADER_BYTES:]
    changed = header
    codec = config.compression_type
    if needs_opening(header, config, now_ms):
        if header.record_count > PRODUCED_RECORDS_MAX:
            raise ApiError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"A record batch of {header.record_count} records is too many to be opened: "
                f"send at most {PRODUCED_RECORDS_MAX} in one batch to this topic.",
            )
        plain = decompressed_payload(records, header, max_output_bytes=PRODUCED_BYTES_MAX)
        if config.is_compacted or _may_be_misdated(header, config, now_ms):
            _check_records(plain, header, config, now_ms)
        if codec is not None and codec != header.codec:
            payload = compress(codec, plain, config.compression_level(codec))
            changed = changed._replace(attributes=changed.attributes & ~CODEC_MASK | codec)
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        changed = changed._replace(attributes=changed.attributes | LOG_APPEND_TIME_FLAG, max_timestamp=now_ms)
    else:
        # Kafka lets a producer claim that the broker set the timestamps, and does not believe it.
        changed = changed._replace(attributes=changed.attributes & ~LOG_APPEND_TIME_FLAG)
    if changed == header:
        return records, header
    rewritten = encode_batch(changed, payload)
    if len(rewritten) > config.max_message_bytes:
        raise _too_large(len(rewritten), config)
    return rewritten, parse_header(rewritten)


def has_new_batches(
    producers: ProducerStates,
    records: memoryview,
    batches: list[PlacedBatch],
    guard: VerificationGuard | None,
    *,
    needs_guard: bool,
    transaction_version: int,
) -> bool:
    """Whether the broker's own batches are to be appended; False for a repeated marker. ApiError if one is refused."""

    def is_new(position: int, header: BatchHeader) -> bool:
        if not header.has_producer_id:
            return True
        if not header.is_control:
            producers.check(header, AppendOrigin.COORDINATOR, guard, needs_guard=needs_guard)
            return True
        marker = parse_end_txn_marker(records[position : position + header.size_bytes], header)
        return marker is None or producers.check_marker(header, marker.coordinator_epoch, transaction_version)

    # All are checked before one is written.
    verdicts = [is_new(position, header) for position, header in batches]
    return any(verdicts)


def _may_be_misdated(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether a record may lie outside of what the topic allows, as far as the header tells."""
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        return False
    if header.max_timestamp - now_ms > config.message_timestamp_after_max_ms:
        return True
    before_max_ms = config.message_timestamp_before_max_ms
    return before_max_ms < MAX_INT64 and (header.record_count > 1 or now_ms - header.max_timestamp > before_max_ms)


def _check_records(payload: Buffer, header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """InvalidRecords for those that lack a key or have a time that the topic does not take."""
    wants_keys = config.is_compacted
    earliest, latest = _time_bounds(config, now_ms)
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    position = 0
    try:
        for number in range(header.record_count):
            length, position = read_varint(payload, position)
            end = position + length
            if length < 0 or end > len(payload):
                raise CorruptRecords(f"record {number} claims {length} bytes, {len(payload) - position} are left")
            delta, position = read_varlong(payload, position + 1)
            _, position = read_varint(payload, position)
            key_length, position = read_varint(payload, position)
            if position + max(key_length, 0) > end:
                raise CorruptRecords(f"the key of record {number} ends behind the record")
            timestamp = header.base_timestamp + delta
            if wants_keys and key_length < 0:
                errors.append((number, "A compacted topic does not accept a record without a key: give it one."))
            elif not earliest <= timestamp <= latest and timestamp != NO_TIMESTAMP:
                errors.append((number, _misdated(timestamp, config, now_ms)))
                code = ErrorCode.INVALID_TIMESTAMP
            if len(errors) == _RECORD_ERRORS_MAX:
                break
            position = end
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"the records are malformed: {error}") from error
    if errors:
        raise InvalidRecords(code, errors)
    if position != len(payload):
        raise CorruptRecords(f"{len(payload) - position} bytes follow the last of {header.record_count} records")


def _time_bounds(config: LogConfig, now_ms: int) -> tuple[int, int]:
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        return -MAX_INT64, MAX_INT64
    before_max_ms = config.message_timestamp_before_max_ms
    earliest = now_ms - before_max_ms if before_max_ms < MAX_INT64 else -MAX_INT64
    return earliest, now_ms + config.message_timestamp_after_max_ms


def _misdated(timestamp: int, config: LogConfig, now_ms: int) -> str:
    is_late = timestamp > now_ms
    side = "after" if is_late else "before"
    limit_ms = config.message_timestamp_after_max_ms if is_late else config.message_timestamp_before_max_ms
    return (
        f"Timestamp {timestamp} is more than message.timestamp.{side}.max.ms = {limit_ms} ms {side} "
        f"the broker's time {now_ms}."
    )


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_RECORD, message)


def _too_large(size: int, config: LogConfig) -> ApiError:
    return ApiError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch takes {size} bytes, max.message.bytes of the topic is {config.max_message_bytes}.",
    )
