from typing import Any

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import (
    BatchHeader,
    TimestampType,
    batch_records,
    crc_is_valid,
    encode_batch,
    parse_header,
)
from ottla.storage.append_validation import (
    InvalidRecords,
    needs_opening,
    needs_rewrite,
    rewrite_batch,
    validate_client_batch,
)
from ottla.storage.log_config import LogConfig

NOW_MS = 1_700_000_000_000


def changed(batch: bytes, **fields: int) -> bytearray:
    """The batch with other header fields and a checksum that fits them."""
    return encode_batch(parse_header(batch)._replace(**fields), batch[61:])


def refusal(batch: bytes | bytearray, config: LogConfig | None = None) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        validate_client_batch(batch, config or LogConfig())
    assert len(refused.value.message) > 20
    return refused.value.code


def test_a_sound_batch_is_accepted(make_batch) -> None:
    batch = make_batch(3, producer_id=1, producer_epoch=0, base_sequence=0)
    assert validate_client_batch(batch, LogConfig()) == parse_header(batch)


@pytest.mark.parametrize("size", [0, 1, 60])
def test_less_than_a_header_is_no_batch(make_batch, size: int) -> None:
    assert refusal(make_batch(3)[:size]) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_other_formats_are_refused(make_batch, magic: int) -> None:
    batch = bytearray(make_batch(3))
    batch[16] = magic
    assert refusal(batch) is ErrorCode.INVALID_RECORD


def test_exactly_one_batch_is_wanted(make_batch) -> None:
    assert refusal(make_batch(1) + make_batch(1)) is ErrorCode.INVALID_RECORD
    assert refusal(make_batch(1)[:-1]) is ErrorCode.INVALID_RECORD
    assert refusal(make_batch(1) + b"x") is ErrorCode.INVALID_RECORD


def test_a_wrong_checksum_is_a_corrupt_message(make_batch) -> None:
    batch = bytearray(make_batch(1))
    batch[-1] ^= 1
    assert refusal(batch) is ErrorCode.CORRUPT_MESSAGE


def test_the_size_limit_counts_the_whole_batch(make_batch) -> None:
    batch = make_batch(1)
    validate_client_batch(batch, LogConfig(max_message_bytes=len(batch)))
    assert refusal(batch, LogConfig(max_message_bytes=len(batch) - 1)) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 2},
        {"last_offset_delta": 5},
        {"record_count": 0, "last_offset_delta": -1},
        {"base_offset": 9},
        {"attributes": 0x20},
        {"producer_id": 4, "base_sequence": -1},
    ],
)
def test_impossible_headers_are_refused(make_batch, fields: dict[str, int]) -> None:
    assert refusal(changed(make_batch(3), **fields)) is ErrorCode.INVALID_RECORD


def test_an_unknown_codec_is_corrupt(make_batch) -> None:
    assert refusal(changed(make_batch(1), attributes=5)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 record of the batch is refused"), (2, "2 records of the batch are refused")]
)
def test_records_that_are_refused_are_counted_with_the_reason_of_the_first(count: int, told: str) -> None:
    batch = dated(*[NOW_MS] * count, key=None)
    with pytest.raises(ApiError) as caught:
        rewrite_batch(batch, parse_header(batch), LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    reason = "A compacted topic does not accept a record without a key: give it one."
    assert caught.value.message == f"{told}: {reason}"


HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS


def dated(*timestamps: int, key: bytes | None = b"k", **settings: Any) -> bytes:
    builder = BatchBuilder(**settings)
    for timestamp_ms in timestamps:
        builder.append(key, b"v", timestamp_ms=timestamp_ms)
    return bytes(builder.build())


def misdated(batch: bytes, config: LogConfig) -> list[int]:
    """The records that are refused for their time."""
    header = validate_client_batch(batch, config)
    if not needs_opening(header, config, NOW_MS):
        return []
    try:
        rewrite_batch(batch, header, config, NOW_MS)
    except InvalidRecords as refused:
        assert refused.code is ErrorCode.INVALID_TIMESTAMP
        return [index for index, _ in refused.record_errors]
    return []


def test_timestamps_too_far_from_now_are_refused() -> None:
    config = LogConfig(message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=500)
    for timestamp_ms in (NOW_MS - 1000, NOW_MS, NOW_MS + 500):
        assert misdated(dated(timestamp_ms), config) == []
    for timestamp_ms in (NOW_MS - 1001, NOW_MS + 501):
        assert misdated(dated(timestamp_ms), config) == [0]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_misdated_records_are_named_wherever_they_stand_in_their_batch(codec: Codec) -> None:
    config = LogConfig(message_timestamp_before_max_ms=HOUR_MS)
    batch = dated(NOW_MS, NOW_MS - 2 * HOUR_MS, -1, NOW_MS + 2 * HOUR_MS, -7, NOW_MS, codec=codec)
    assert misdated(batch, config) == [1, 3, 4]


def test_a_refusal_names_the_time_the_setting_and_its_value() -> None:
    batch = dated(NOW_MS + 2 * HOUR_MS)
    with pytest.raises(InvalidRecords) as refused:
        rewrite_batch(batch, parse_header(batch), LogConfig(), NOW_MS)
    for part in (str(NOW_MS + 2 * HOUR_MS), "message.timestamp.after.max.ms = 3600000", str(NOW_MS)):
        assert part in refused.value.record_errors[0][1]


def test_by_default_the_past_is_open_and_the_future_ends_after_an_hour() -> None:
    assert misdated(dated(0, -1, -5, -(2**62)), LogConfig()) == []
    assert misdated(dated(NOW_MS + HOUR_MS), LogConfig()) == []
    assert misdated(dated(NOW_MS + HOUR_MS + 1), LogConfig()) == [0]


def test_records_without_a_timestamp_are_never_misdated() -> None:
    assert misdated(dated(-1, -1), LogConfig(message_timestamp_before_max_ms=0)) == []


def test_a_batch_is_opened_only_if_its_header_leaves_a_doubt() -> None:
    narrow = LogConfig(message_timestamp_before_max_ms=HOUR_MS)
    for batch, config, is_opened in (
        (dated(0, NOW_MS), LogConfig(), False),
        (dated(NOW_MS), narrow, False),
        (dated(NOW_MS - 2 * HOUR_MS), narrow, True),
        (dated(NOW_MS, NOW_MS), narrow, True),
        (dated(NOW_MS + YEAR_MS), LogConfig(), True),
        (dated(NOW_MS + YEAR_MS), LogConfig(message_timestamp_after_max_ms=YEAR_MS), False),
    ):
        assert needs_opening(parse_header(batch), config, NOW_MS) is is_opened


def test_a_missing_key_and_a_wrong_time_are_told_together_as_kafka_does() -> None:
    builder = BatchBuilder()
    builder.append(None, b"v", timestamp_ms=NOW_MS)
    builder.append(b"k", b"v", timestamp_ms=NOW_MS + YEAR_MS)
    batch = bytes(builder.build())
    with pytest.raises(InvalidRecords) as refused:
        rewrite_batch(batch, parse_header(batch), LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0, 1]


def test_timestamps_do_not_matter_where_the_broker_sets_them(make_batch) -> None:
    config = LogConfig(
        message_timestamp_type=TimestampType.LOG_APPEND_TIME, cleanup_policy=frozenset({"compact", "delete"})
    )
    batch = make_batch(1, timestamp_ms=NOW_MS * 2)
    assert rewrite_batch(batch, parse_header(batch), config, NOW_MS)[1].max_timestamp == NOW_MS


def test_a_producer_must_not_claim_the_brokers_timestamp_where_the_broker_sets_it(make_batch) -> None:
    batch = make_batch(2, timestamp_type=TimestampType.LOG_APPEND_TIME)
    with pytest.raises(InvalidRecords) as refused:
        validate_client_batch(batch, LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0, 1]


def test_such_a_claim_is_not_believed_where_producers_set_the_time(make_batch) -> None:
    batch = make_batch(2, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert needs_rewrite(parse_header(batch), LogConfig(), NOW_MS)
    header, records = rewritten(batch, LogConfig())
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert len(records) == 2


def test_most_batches_need_no_rewrite(make_batch) -> None:
    header = parse_header(make_batch(1, codec=Codec.LZ4))
    assert not needs_rewrite(header, LogConfig(), NOW_MS)
    assert not needs_rewrite(header, LogConfig(compression_type=Codec.LZ4), NOW_MS)
    assert needs_rewrite(header, LogConfig(compression_type=Codec.NONE), NOW_MS)
    assert needs_rewrite(header, LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    assert needs_rewrite(header, LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME), NOW_MS)


def rewritten(batch: bytes, config: LogConfig) -> tuple[BatchHeader, list[object]]:
    records, header = rewrite_batch(batch, parse_header(batch), config, NOW_MS + 77)
    assert header == parse_header(records)
    assert crc_is_valid(records, header)
    return header, list(batch_records(records, header))


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_recompression_changes_the_codec_and_nothing_else(make_batch, source: Codec, target: Codec) -> None:
    batch = make_batch(5, codec=source, producer_id=3, producer_epoch=1, base_sequence=9)
    before = parse_header(batch)
    header, records = rewritten(batch, LogConfig(compression_type=target))
    assert header.codec is target
    assert records == list(batch_records(batch, before))
    assert header._replace(attributes=0, crc=0, batch_length=0) == before._replace(attributes=0, crc=0, batch_length=0)


def test_the_brokers_time_replaces_the_largest_timestamp(make_batch) -> None:
    header, records = rewritten(make_batch(2), LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == NOW_MS + 77
    assert len(records) == 2


def test_records_without_a_key_are_named(make_batch) -> None:
    builder = BatchBuilder(codec=Codec.GZIP)
    for key in (b"a", None, b"", None):
        builder.append(key, b"v", timestamp_ms=NOW_MS)
    batch = bytes(builder.build())
    with pytest.raises(InvalidRecords) as refused:
        rewrite_batch(batch, parse_header(batch), LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in refused.value.record_errors] == [1, 3]


def test_a_batch_with_keys_passes_a_compacted_topic_unchanged(make_batch) -> None:
    batch = make_batch(3, codec=Codec.ZSTD)
    records, _ = rewrite_batch(batch, parse_header(batch), LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    assert bytes(records) == batch


def test_malformed_records_on_a_compacted_topic_are_corrupt(make_batch) -> None:
    batch = encode_batch(parse_header(make_batch(3)), b"\xff\xff\xff\xff\xff\xff")
    with pytest.raises(ApiError) as refused:
        rewrite_batch(batch, parse_header(batch), LogConfig(cleanup_policy=frozenset({"compact"})), NOW_MS)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_grows_over_the_limit_is_too_large(make_batch) -> None:
    batch = make_batch(5, value=b"x" * 1000, codec=Codec.GZIP)
    config = LogConfig(compression_type=Codec.NONE, max_message_bytes=1000)
    with pytest.raises(ApiError) as refused:
        rewrite_batch(batch, validate_client_batch(batch, config), config, NOW_MS)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_grows_without_measure_is_refused_for_good(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for _ in range(9):
        builder.append(b"k", bytes(8_000_000), timestamp_ms=1)
    bomb = bytes(builder.build())
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_message_bytes=10_000_000)
    header = validate_client_batch(bomb, config)
    with pytest.raises(ApiError) as refused:
        rewrite_batch(bomb, header, config, 1)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_million_wrong_records_are_not_told_one_by_one() -> None:
    builder = BatchBuilder()
    for _ in range(500):
        builder.append(None, b"", timestamp_ms=1)
    batch = bytes(builder.build())
    config = LogConfig(cleanup_policy=frozenset({"compact"}))
    with pytest.raises(InvalidRecords) as refused:
        rewrite_batch(batch, validate_client_batch(batch, config), config, 1)
    assert [index for index, _ in refused.value.record_errors] == list(range(100))


def test_a_batch_of_too_many_records_is_not_opened() -> None:
    batch = BatchBuilder()
    batch.append(b"k", b"v", timestamp_ms=1)
    crowded = changed(bytes(batch.build()), record_count=1_000_001, last_offset_delta=1_000_000)
    config = LogConfig(cleanup_policy=frozenset({"compact"}))
    with pytest.raises(ApiError) as refused:
        rewrite_batch(crowded, validate_client_batch(crowded, config), config, 1)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
