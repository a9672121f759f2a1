import pyarrow as pa

from ottla.client.columns import batches_to_columns, columns_to_batches
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.writing.producer_stamps import first_alone, stamped
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import MAX_SEQUENCE, crc_is_valid, iterate_headers

ROWS = pa.record_batch({"value": pa.array([b"%04d" % number * 50 for number in range(10)])})


def made(batch_bytes: int, codec: Codec = Codec.NONE) -> bytes:
    identity = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 40}
    return columns_to_batches(ROWS, timestamp_ms=5, codec=codec, batch_bytes=batch_bytes, **identity)


def test_the_first_of_several_batches_is_split_off() -> None:
    batches = made(1_000)
    first, others = first_alone(batches)
    assert first + others == batches
    assert len(list(iterate_headers(first))) == 1


def test_one_batch_stays_as_it_is() -> None:
    assert first_alone(made(100_000)) == [made(100_000)]


def test_batches_of_another_producer_differ_in_nothing_else() -> None:
    batches = made(1_000, Codec.LZ4)
    others = stamped(batches, ProducerIdentity(8, 1), MAX_SEQUENCE - 3)
    before, after = ([header for _, header in iterate_headers(found)] for found in (batches, others))
    assert [header.record_count for header in after] == [header.record_count for header in before] == [4, 4, 2]
    assert [(header.producer_id, header.producer_epoch, header.base_sequence) for header in after] == [
        (8, 1, MAX_SEQUENCE - 3),
        (8, 1, 0),
        (8, 1, 4),
    ]
    assert all(crc_is_valid(others, header, at) for at, header in iterate_headers(others))
    assert batches_to_columns(others) == batches_to_columns(batches)
