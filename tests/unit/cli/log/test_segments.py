from pathlib import Path

import pytest

from ottla.cli.log.segments import UnreadableLog, file_title, read_batches
from ottla.protocol.batch_builder import BatchBuilder


def batch(base_offset: int, *values: bytes) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=0)
    for value in values:
        builder.append(b"k", value, timestamp_ms=1000 + base_offset)
    return bytes(builder.build())


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(0, b"a", b"b") + batch(2, b"c"))
    return path


def test_batches_are_read_with_their_places(segment: Path) -> None:
    first, second = read_batches(segment)
    assert (first.position, first.header.last_offset, first.is_valid) == (0, 1, True)
    assert second.position == len(first.data)
    assert [record.value for record in second.records()] == [b"c"]
    assert [one.position for one in read_batches(segment, start=second.position)] == [second.position]
    assert [one.position for one in read_batches(segment, max_bytes=len(first.data) + 5)] == [0]


def test_a_wrong_checksum_does_not_hide_what_follows(segment: Path) -> None:
    damaged = bytearray(segment.read_bytes())
    damaged[70] ^= 1
    segment.write_bytes(damaged)
    assert [one.is_valid for one in read_batches(segment)] == [False, True]


def test_a_torn_tail_ends_the_batches_and_zeros_are_an_error(segment: Path) -> None:
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1])
    assert len(list(read_batches(segment))) == 1
    segment.write_bytes(whole + bytes(64))
    with pytest.raises(UnreadableLog, match="record size 0"):
        list(read_batches(segment))
    with pytest.raises(UnreadableLog, match="cannot be read"):
        list(read_batches(segment.with_name("00000000000000000009.log")))


def test_batches_of_old_formats_are_refused(segment: Path) -> None:
    old = bytearray(segment.read_bytes())
    old[16] = 1
    segment.write_bytes(old)
    with pytest.raises(UnreadableLog, match="format version 2"):
        list(read_batches(segment))


def test_an_unknown_codec_is_named_and_its_records_refused(segment: Path) -> None:
    odd = bytearray(segment.read_bytes())
    odd[22] |= 7
    segment.write_bytes(odd)
    first, second = read_batches(segment)
    assert (first.codec_name, second.codec_name) == ("unknown(7)", "none")
    with pytest.raises(UnreadableLog, match="unknown compression"):
        list(first.records())


def test_names_say_what_a_file_is() -> None:
    assert file_title(Path("00000000000000000042.log")) == "Log starting offset: 42"
    assert file_title(Path("00000000000000000042-0000000003.checkpoint")) == "Snapshot end offset: 42, epoch: 3"
    assert file_title(Path("bootstrap.checkpoint")) == "KRaft bootstrap snapshot"
    with pytest.raises(UnreadableLog):
        file_title(Path("server.log"))
