"""What a leader checks and changes in a batch that a client produced, before it enters the log.

`validate_client_batch` looks at the header and the checksum: cheap, for every batch, on the event loop. `needs_rewrite`
says whether the topic's settings require more; `rewrite_batch` then opens the batch and belongs in a thread. It is a
pure function: the settings and the time come as arguments, the result is the batch to append.
"""

from collections.abc import Sequence

from ottla.protocol.compression import Buffer, compress
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.primitives import read_varint, read_varlong
from ottla.protocol.record_batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    decompressed_payload,
    encode_batch,
    parse_header,
)
from ottla.protocol.records import CorruptRecords
from ottla.storage.log_config import LogConfig

_MAX_CODEC = 4


# What a produced batch may hold when it is opened. Producers limit a batch before they compress it, to a megabyte or
# so; a small batch of much more than this is made to hurt (CVE-2023-34455).
PRODUCED_BYTES_MAX = 64 * 1024 * 1024
PRODUCED_RECORDS_MAX = 1_000_000
# A client needs to know which records are wrong, not all nine million of them.
_RECORD_ERRORS_MAX = 100


class InvalidRecords(ApiError):
    """Single records of a batch are refused; `record_errors` says which, by index in the batch, and why."""

    def __init__(self, record_errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(
            ErrorCode.INVALID_RECORD, f"{len(record_errors)} records of the batch are refused: {record_errors[0][1]}"
        )
        self.record_errors = tuple(record_errors)


def validate_client_batch(records: Buffer, config: LogConfig, now_ms: int) -> BatchHeader:
    """The header of the one batch in a partition's produce data; ApiError if it must not enter the log as it is."""
    size = len(records)
    if size < HEADER_BYTES:
        raise _invalid(f"{size} bytes of produce data hold no record batch.")
    if records[MAGIC_POSITION] != MAGIC:
        raise _invalid(f"Message format version {records[MAGIC_POSITION]} is not supported, only version {MAGIC} is.")
    header = parse_header(records)
    if size != header.batch_length + 12:
        raise _invalid(
            f"Produce data of a partition must be exactly one record batch: {size} bytes were sent, "
            f"the first batch takes {header.size_bytes}."
        )
    if size > config.max_message_bytes:
        raise _too_large(size, config)
    if not crc_is_valid(records, header):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, "The checksum of the record batch does not fit its bytes.")
    count = header.record_count
    if count != header.last_offset_delta + 1 or count <= 0 or header.base_offset != 0:
        raise _invalid(
            f"A record batch of {count} records must have the offsets 0 to {count - 1}; this one has base offset "
            f"{header.base_offset} and last offset delta {header.last_offset_delta}."
        )
    attributes = header.attributes
    if attributes & CONTROL_FLAG:
        raise _invalid("Clients must not write control records.")
    if attributes & CODEC_MASK > _MAX_CODEC:
        raise CorruptRecords(f"Compression type {attributes & CODEC_MASK} is unknown.")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"Producer {header.producer_id} sent the negative sequence {header.base_sequence}.")
    if config.message_timestamp_type is TimestampType.CREATE_TIME:
        _check_timestamps(header, config, now_ms)
    return header


def needs_rewrite(header: BatchHeader, config: LogConfig) -> bool:
    """Whether the topic's settings require that the batch be opened or changed."""
    return config.message_timestamp_type is TimestampType.LOG_APPEND_TIME or needs_opening(header, config)


def needs_opening(header: BatchHeader, config: LogConfig) -> bool:
    """Whether a rewrite must look at the records, which takes long enough for a thread; a new header does not."""
    return config.is_compacted or (
        config.compression_type is not None and config.compression_type != header.attributes & CODEC_MASK
    )


def rewrite_batch(records: Buffer, header: BatchHeader, config: LogConfig, now_ms: int) -> tuple[Buffer, BatchHeader]:
    """The batch as the topic wants it: keys checked, compressed as configured, stamped with the time of the append."""
    payload: Buffer = memoryview(records)[HEADER_BYTES:]
    changed = header
    codec = config.compression_type
    recompresses = codec is not None and codec != header.codec
    if config.is_compacted or recompresses:
        if header.record_count > PRODUCED_RECORDS_MAX:
            raise ApiError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"A record batch of {header.record_count} records is too many to be opened: "
                f"send at most {PRODUCED_RECORDS_MAX} in one batch to this topic.",
            )
        plain = decompressed_payload(records, header, max_output_bytes=PRODUCED_BYTES_MAX)
        if config.is_compacted:
            _require_keys(plain, header.record_count)
        if codec is not None and recompresses:
            payload = compress(codec, plain, config.compression_level(codec))
            changed = changed._replace(attributes=changed.attributes & ~CODEC_MASK | codec)
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        changed = changed._replace(attributes=changed.attributes | LOG_APPEND_TIME_FLAG, max_timestamp=now_ms)
    if changed is header:
        return records, header
    rewritten = encode_batch(changed, payload)
    if len(rewritten) > config.max_message_bytes:
        raise _too_large(len(rewritten), config)
    return rewritten, parse_header(rewritten)


def _check_timestamps(header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    if header.attributes & LOG_APPEND_TIME_FLAG:
        raise ApiError(ErrorCode.INVALID_TIMESTAMP, "Producers must not claim that the broker set the timestamps.")
    latest = header.max_timestamp
    if latest == NO_TIMESTAMP:
        return
    if latest - now_ms > config.message_timestamp_after_max_ms:
        raise ApiError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Timestamp {latest} is more than message.timestamp.after.max.ms = "
            f"{config.message_timestamp_after_max_ms} ms after the broker's time {now_ms}.",
        )
    earliest = min(header.base_timestamp, latest)
    if now_ms - earliest > config.message_timestamp_before_max_ms:
        raise ApiError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Timestamp {earliest} is more than message.timestamp.before.max.ms = "
            f"{config.message_timestamp_before_max_ms} ms before the broker's time {now_ms}.",
        )


def _require_keys(payload: Buffer, record_count: int) -> None:
    errors = []
    position = 0
    try:
        for number in range(record_count):
            length, position = read_varint(payload, position)
            end = position + length
            if length < 0 or end > len(payload):
                raise CorruptRecords(f"record {number} claims {length} bytes, {len(payload) - position} are left")
            _, position = read_varlong(payload, position + 1)
            _, position = read_varint(payload, position)
            key_length, position = read_varint(payload, position)
            if position + max(key_length, 0) > end:
                raise CorruptRecords(f"the key of record {number} ends behind the record")
            if key_length < 0:
                errors.append((number, "A compacted topic does not accept a record without a key."))
                if len(errors) == _RECORD_ERRORS_MAX:
                    break
            position = end
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"the records are malformed: {error}") from error
    if errors:
        raise InvalidRecords(errors)
    if position != len(payload):
        raise CorruptRecords(f"{len(payload) - position} bytes follow the last of {record_count} records")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_RECORD, message)


def _too_large(size: int, config: LogConfig) -> ApiError:
    return ApiError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch takes {size} bytes, max.message.bytes of the topic is {config.max_message_bytes}.",
    )
