"""Record batches into columns: what generated logs do not show."""

import pytest

from ottla.client.columns import batches_to_columns, iterate_columns
from ottla.client.records import NewRecord, encode_records
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import MAX_DECOMPRESSED_BYTES, encode_batch, parse_header, set_base_offset
from ottla.protocol.records import CorruptRecords, Record
from ottla.protocol.records import encode_records as encode_payload


def batches(count: int, records: int, codec: Codec = Codec.NONE, size: int = 100) -> bytes:
    made = []
    for number in range(count):
        rows = [NewRecord(b"%d" % at * (size // 2), b"%d-%d" % (number, at), at) for at in range(records)]
        one = encode_records(rows, codec=codec)
        set_base_offset(one, number * records)
        made.append(bytes(one))
    return b"".join(made)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_many_batches_go_through_together(codec: Codec) -> None:
    columns = batches_to_columns(batches(300, 7, codec))
    columns.validate(full=True)
    assert columns.column("offset").to_pylist() == list(range(2_100))
    assert columns.column("key").to_pylist() == [b"%d-%d" % divmod(row, 7) for row in range(2_100)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_pieces_have_at_most_so_many_bytes_and_whole_batches(codec: Codec) -> None:
    stored = batches(10, 10, codec, size=1_000)
    pieces = list(iterate_columns(stored, bytes_max=12_000))
    assert [piece.num_rows for piece in pieces] == [20] * 5
    assert [piece.num_rows for piece in iterate_columns(stored, bytes_max=1)] == [10] * 10
    assert [piece.num_rows for piece in iterate_columns(stored)] == [100]


def test_pieces_without_rows_are_left_out() -> None:
    assert list(iterate_columns(b"")) == []
    assert list(iterate_columns(batches(2, 2), from_offset=4)) == []


def test_codecs_may_change_from_batch_to_batch() -> None:
    first, second = batches(1, 3), bytearray(batches(1, 3, Codec.GZIP))
    set_base_offset(second, 3)
    columns = batches_to_columns(first + second)
    assert columns.column("offset").to_pylist() == list(range(6))
    assert columns.column("value").to_pylist()[:3] == columns.column("value").to_pylist()[3:]


def test_an_answer_may_be_a_view_into_something_larger() -> None:
    stored = batches(3, 3)
    view = memoryview(bytearray(b"front" + stored + b"back"))[5 : 5 + len(stored)]
    assert batches_to_columns(view).equals(batches_to_columns(stored))


def test_a_record_with_very_many_headers_is_read() -> None:
    many = tuple((f"name-{number}", None if number % 3 else b"v" * number) for number in range(500))
    rows = [NewRecord(b"a"), NewRecord(b"b", headers=many), NewRecord(b"c", headers=many[:40])]
    found = batches_to_columns(encode_records(rows)).column("headers").to_pylist()
    assert [tuple((pair["key"], pair["value"]) for pair in row) for row in found] == [(), many, many[:40]]


@pytest.mark.parametrize("names", [2, 40])
def test_headers_that_end_behind_their_record_are_refused(names: int) -> None:
    rows = [Record(0, number, None, b"v", (("h", b"12345"),) * names) for number in range(2)]
    payload = encode_payload(rows)
    at = len(payload) // 2 - 6
    assert payload[at] == 10
    for length in (9, 11, 12, 14, 126):
        damaged = payload[:at] + bytes([length]) + payload[at + 1 :]
        stored = encode_batch(parse_header(encode_records([NewRecord(b"")]))._replace(record_count=2), damaged)
        with pytest.raises(CorruptRecords):
            batches_to_columns(stored)


def test_a_name_that_is_no_text_is_shown_as_kafkas_clients_show_it() -> None:
    stored = bytes(encode_records([NewRecord(b"v", headers=(("name", b""),))])).replace(b"name", b"na\xff\xff")
    [[header]] = batches_to_columns(stored, check_crc=False).column("headers").to_pylist()
    assert header == {"key": "na\ufffd\ufffd", "value": b""}
    with pytest.raises(CorruptRecords):
        batches_to_columns(stored)


def test_a_checksum_that_does_not_fit_is_refused() -> None:
    damaged = batches(2, 2)[:-1] + b"\1"
    with pytest.raises(CorruptRecords, match="the batch at offset 2 does not match its checksum"):
        batches_to_columns(damaged)


def test_more_than_a_batch_may_hold_is_refused_before_it_fills_the_memory() -> None:
    bomb = encode_records([NewRecord(bytes(MAX_DECOMPRESSED_BYTES))], codec=Codec.ZSTD)
    with pytest.raises(ApiError) as refused:
        batches_to_columns(bomb)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_claim_of_many_records_costs_no_memory() -> None:
    stored = bytearray(encode_records([NewRecord(b"v")]))
    stored[57:61] = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(CorruptRecords, match="2147483647 records do not fit"):
        batches_to_columns(stored, check_crc=False)
