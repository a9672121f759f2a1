import pytest

from ottla.protocol.batch_builder import BatchBuilder, rebuild_batch
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import HEADER_BYTES, TimestampType, batch_records, crc_is_valid, parse_header
from ottla.protocol.records import Headers, record_size_bound

ROWS: list[tuple[int, bytes | None, bytes | None, Headers]] = [
    (1_000, b"key", b"value", ()),
    (990, None, b"", (("name", b"x"), ("other", None))),
    (1_000 + 2**40, b"", None, (("é", b""),)),
    (1_003, b"k" * 200, b"v" * 20_000, ()),
]


def builder_of_rows(codec: Codec = Codec.NONE) -> BatchBuilder:
    builder = BatchBuilder(codec=codec)
    for timestamp_ms, key, value, headers in ROWS:
        builder.append(key, value, timestamp_ms=timestamp_ms, headers=headers)
    return builder


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="at least one"):
        BatchBuilder().build()


@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back_as_they_were(codec: Codec) -> None:
    batch = builder_of_rows(codec).build()
    header = parse_header(batch)
    assert crc_is_valid(batch, header)
    assert header.codec is codec
    found = [
        (header.base_timestamp + record.timestamp_delta, record.key, record.value, record.headers)
        for record in batch_records(batch, header)
    ]
    assert found == ROWS


def test_the_header_says_what_is_inside() -> None:
    builder = builder_of_rows()
    builder.set_producer_state(7, 3, 11, is_transactional=True)
    header = parse_header(builder.build())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert (header.record_count, header.last_offset_delta) == (4, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_000 + 2**40)
    assert header.is_transactional


def test_a_batch_can_be_built_again_under_another_epoch() -> None:
    builder = builder_of_rows(Codec.ZSTD)
    builder.set_producer_state(7, 3, 11)
    first = builder.build()
    builder.set_producer_state(7, 4, 0)
    second = builder.build()
    assert first[HEADER_BYTES:] == second[HEADER_BYTES:]
    assert (parse_header(first).producer_epoch, parse_header(second).producer_epoch) == (3, 4)
    assert crc_is_valid(second, parse_header(second))


def test_a_batch_that_was_built_takes_no_more_records() -> None:
    builder = builder_of_rows()
    builder.build()
    builder.append(None, b"late", timestamp_ms=0)
    with pytest.raises(ValueError, match="built already"):
        builder.build()


def test_the_size_is_known_before_the_batch_is_built() -> None:
    builder = builder_of_rows()
    assert builder.size_bytes == len(builder.build())


@pytest.mark.parametrize("row", ROWS)
def test_no_record_takes_more_than_its_bound(row: tuple[int, bytes | None, bytes | None, Headers]) -> None:
    timestamp_ms, key, value, headers = row
    builder = BatchBuilder()
    builder.append(None, None, timestamp_ms=0)
    before = builder.size_bytes
    builder.append(key, value, timestamp_ms=timestamp_ms, headers=headers)
    assert builder.size_bytes - before <= record_size_bound(key, value, headers)


def three_records() -> bytearray:
    builder = BatchBuilder(codec=Codec.LZ4, base_offset=10, producer_id=4, producer_epoch=1, base_sequence=8)
    for number in range(3):
        builder.append(b"k%d" % number, b"v", timestamp_ms=100 + number)
    return builder.build()


def test_a_rebuilt_batch_keeps_its_ranges() -> None:
    batch = three_records()
    header = parse_header(batch)
    kept = list(batch_records(batch, header))[1:2]
    rebuilt = rebuild_batch(header, kept, None)
    new = parse_header(rebuilt)
    assert crc_is_valid(rebuilt, new)
    assert (new.base_offset, new.last_offset, new.base_sequence, new.last_sequence) == (10, 12, 8, 10)
    assert (new.record_count, new.max_timestamp, new.codec) == (1, 101, Codec.LZ4)
    assert list(batch_records(rebuilt, new)) == kept


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp_and_times_stay() -> None:
    batch = three_records()
    header = parse_header(batch)
    rebuilt = rebuild_batch(header, list(batch_records(batch, header)), 5000)
    new = parse_header(rebuilt)
    assert new.delete_horizon_ms == 5000
    assert [new.base_timestamp + record.timestamp_delta for record in batch_records(rebuilt, new)] == [100, 101, 102]
    assert new.max_timestamp == 102


def test_an_emptied_batch_has_no_records_and_no_compression() -> None:
    rebuilt = rebuild_batch(parse_header(three_records()), [], None)
    new = parse_header(rebuilt)
    assert (new.record_count, new.codec, new.last_offset) == (0, Codec.NONE, 12)
    assert list(batch_records(rebuilt, new)) == []


def test_the_brokers_timestamp_survives_a_rebuild() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)
    builder.append(b"k", b"v", timestamp_ms=100)
    header = parse_header(builder.build())._replace(max_timestamp=777)
    assert parse_header(rebuild_batch(header, [], None)).max_timestamp == 777
