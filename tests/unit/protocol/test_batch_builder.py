import pytest

from ottla.protocol.batch_builder import BatchBuilder, rebuild_batch
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType, batch_records, crc_is_valid, parse_header


def test_a_batch_needs_a_record() -> None:
    with pytest.raises(ValueError, match="at least one"):
        BatchBuilder().build()


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
