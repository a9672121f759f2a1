from ottla.client.records import NewRecord, encode_records
from ottla.pipeline.source.offset_sizes import bytes_per_offset
from ottla.protocol.record_batch import set_base_offset


def test_an_average_is_over_the_offsets_of_the_batches() -> None:
    first = encode_records([NewRecord(b"x" * 100) for _ in range(10)])
    second = encode_records([NewRecord(b"x" * 100) for _ in range(10)])
    # Between the two, compaction left a gap of 80 offsets.
    set_base_offset(second, 90)
    both = memoryview(bytes(first + second))
    assert bytes_per_offset(both) == len(both) / 100


def test_nothing_says_nothing() -> None:
    assert bytes_per_offset(memoryview(b"")) is None
