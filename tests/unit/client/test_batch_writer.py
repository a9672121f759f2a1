"""Records into a batch."""

import pytest

from ottla.client.batch_writer import BatchWriter, record_size_bound
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import HEADER_BYTES, batch_records, crc_is_valid, parse_header
from ottla.protocol.records import Headers

ROWS: list[tuple[int, bytes | None, bytes | None, Headers]] = [
    (1_000, b"key", b"value", ()),
    (990, None, b"", (("name", b"x"), ("other", None))),
    (1_000 + 2**40, b"", None, (("é", b""),)),
    (1_003, b"k" * 200, b"v" * 20_000, ()),
]


def written(codec: Codec = Codec.NONE) -> BatchWriter:
    writer = BatchWriter(codec)
    for row in ROWS:
        writer.append(*row)
    return writer


@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back_as_they_were(codec: Codec) -> None:
    batch = written(codec).build()
    header = parse_header(batch)
    assert crc_is_valid(batch, header)
    assert header.codec is codec
    found = [
        (header.base_timestamp + record.timestamp_delta, record.key, record.value, record.headers)
        for record in batch_records(batch, header)
    ]
    assert found == ROWS


def test_the_header_says_what_is_inside() -> None:
    header = parse_header(written().build(7, 3, 11, is_transactional=True))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert (header.record_count, header.last_offset_delta) == (4, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_000 + 2**40)
    assert header.is_transactional


def test_a_batch_can_be_built_again_under_another_sequence() -> None:
    writer = written(Codec.ZSTD)
    first, second = writer.build(7, 3, 11), writer.build(7, 4, 0)
    assert first[HEADER_BYTES:] == second[HEADER_BYTES:]
    assert parse_header(second).producer_epoch == 4
    assert crc_is_valid(second, parse_header(second))


def test_the_size_is_known_before_the_batch_is_built() -> None:
    writer = written()
    assert writer.size_bytes == len(writer.build())


@pytest.mark.parametrize("row", ROWS)
def test_no_record_takes_more_than_its_bound(row: tuple[int, bytes | None, bytes | None, Headers]) -> None:
    writer = BatchWriter()
    writer.append(0, None, None)
    before = writer.size_bytes
    writer.append(*row)
    assert writer.size_bytes - before <= record_size_bound(*row[1:])
