import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import (
    MAX_SEQUENCE,
    PLACEMENT,
    TimestampType,
    batch_records,
    crc_is_valid,
    encode_batch,
    iterate_headers,
    parse_header,
)
from ottla.protocol.records import CorruptRecords


def build(count: int = 3, **settings: object) -> bytearray:
    builder = BatchBuilder(**settings)  # type: ignore[arg-type]
    for number in range(count):
        builder.append(b"k%d" % number, b"v" * 50, timestamp_ms=1000 + 10 * number, headers=[("h", b"x")])
    return builder.build()


def test_the_header_says_what_was_built() -> None:
    batch = build(
        codec=Codec.GZIP, producer_id=7, producer_epoch=2, base_sequence=5, is_transactional=True, base_offset=100
    )
    header = parse_header(batch)
    assert header.size_bytes == len(batch)
    assert (header.base_offset, header.last_offset, header.next_offset, header.record_count) == (100, 102, 103, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1020)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (7, 2, 5, 7)
    assert header.codec is Codec.GZIP
    assert header.is_transactional
    assert not header.is_control
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert crc_is_valid(batch, header)


@pytest.mark.parametrize("codec", list(Codec))
def test_another_implementation_reads_our_batches(codec: Codec) -> None:
    theirs = DefaultRecordBatch(bytes(build(codec=codec)))
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in theirs] == [
        (n, 1000 + 10 * n, b"k%d" % n, b"v" * 50, [("h", b"x")]) for n in range(3)
    ]


def test_we_read_the_batches_of_another_implementation() -> None:
    builder = DefaultRecordBatchBuilder(2, 1, True, 9, 1, 4, 1 << 20)
    builder.append(0, 500, b"a", b"b", [("h", None)])
    builder.append(1, 400, None, None, [])
    batch = bytes(builder.build())
    header = parse_header(batch)
    assert crc_is_valid(batch, header)
    assert (header.producer_id, header.base_sequence, header.max_timestamp) == (9, 4, 500)
    assert [(r.timestamp_delta, r.offset_delta, r.key, r.value, r.headers) for r in batch_records(batch, header)] == [
        (0, 0, b"a", b"b", (("h", None),)),
        (-100, 1, None, None, ()),
    ]


def test_placing_a_batch_leaves_the_checksum_valid() -> None:
    batch = build()
    PLACEMENT.pack_into(batch, 0, 12345, parse_header(batch).batch_length, 6)
    header = parse_header(batch)
    assert (header.base_offset, header.leader_epoch) == (12345, 6)
    assert crc_is_valid(batch, header)


def test_a_changed_byte_after_the_checksum_is_noticed() -> None:
    batch = build()
    header = parse_header(batch)
    for position in range(21, len(batch)):
        damaged = bytearray(batch)
        damaged[position] ^= 1
        assert not crc_is_valid(damaged, header), position


def test_batches_follow_each_other_in_a_buffer() -> None:
    buffer = b"start" + build(1, base_offset=0) + build(2, base_offset=1)
    found = list(iterate_headers(buffer, 5))
    assert [(position, header.base_offset) for position, header in found] == [(5, 0), (5 + len(build(1)), 1)]


def test_a_buffer_that_ends_inside_a_batch_is_refused() -> None:
    buffer = build()
    for end in range(1, len(buffer)):
        with pytest.raises(CorruptRecords):
            list(iterate_headers(buffer[:end]))


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_other_message_formats_are_refused(magic: int) -> None:
    batch = build()
    batch[16] = magic
    with pytest.raises(CorruptRecords, match=f"version {magic}"):
        parse_header(batch)


def test_a_length_below_the_header_is_refused() -> None:
    batch = build()
    batch[8:12] = (48).to_bytes(4, "big")
    with pytest.raises(CorruptRecords, match="48"):
        parse_header(batch)


def test_sequences_continue_at_zero() -> None:
    header = parse_header(build(3, producer_id=1, producer_epoch=0, base_sequence=MAX_SEQUENCE - 1))
    assert header.last_sequence == 0


def test_an_unknown_codec_is_refused() -> None:
    header = parse_header(build())._replace(attributes=6)
    with pytest.raises(CorruptRecords, match="compression 6"):
        _ = header.codec


def test_a_payload_that_does_not_decompress_is_refused_as_corrupt() -> None:
    header = parse_header(build())._replace(attributes=int(Codec.ZSTD))
    batch = encode_batch(header, b"not zstd")
    with pytest.raises(CorruptRecords, match="zstd"):
        list(batch_records(batch, parse_header(batch)))
