import base64

import pytest

from ottla.metadata.log_batches import encode_control_batch, encode_values, read_metadata_batches
from ottla.metadata.record_serde import UnreadableMetadata, encode_record
from ottla.metadata.snapshot import encode_snapshot, parse_snapshot_file_name, read_snapshot, snapshot_file_name
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.uuids import uuid_from_text
from ottla.raft import OffsetAndEpoch, ReplicaKey, Voter, VoterEndpoint, VoterSet

# Written by `kafka-storage format --standalone` of Kafka 4.3.0.
KAFKA_BOOTSTRAP = base64.b64decode(
    "AAAAAAAAAAAAAABHAAAAAAKj74qrACAAAAAAAAABod64zdQAAAGh3rjN1P//////////////////AAAAASoAAAAIAAAAAxYAAAAAAAAAAAAAAAAAAAAAAAAAAQ"
    "AAAPEAAAAAAvx8WRkAAAAAAAUAAAGh3rjOggAAAaHeuM6C//////////////////8AAAAGOgAAAAEuAQwAEW1ldGFkYXRhLnZlcnNpb24AHgAAWgAAAgFO"
    "AQwAIWVsaWdpYmxlLmxlYWRlci5yZXBsaWNhcy52ZXJzaW9uAAEAADQAAAQBKAEMAA5ncm91cC52ZXJzaW9uAAEAADQAAAYBKAEMAA5zaGFyZS52ZXJzaW"
    "9uAAEAADgAAAgBLAEMABBzdHJlYW1zLnZlcnNpb24AAQAAQAAACgE0AQwAFHRyYW5zYWN0aW9uLnZlcnNpb24AAgAAAAAAAAAAAAcAAAA/AAAAAAKe1dcQ"
    "ACAAAAAAAAABod64zoUAAAGh3rjOhf//////////////////AAAAARoAAAAIAAAABAYAAAAA"
)
KAFKA_FIRST_SNAPSHOT = base64.b64decode(
    "AAAAAAAAAAAAAACaAAAAAAI8CUWGACAAAAACAAABod64z1QAAAGh3rjPVP//////////////////AAAAAyoAAAAIAAAAAxYAAAAAAaHeuM71AAAeAAACCA"
    "AAAAUKAAAAAQAAggEAAAQIAAAABm4AAAIAAAABNhEP1HmWTzWMNmMcJ30IUAILQ09OVFJPTExFUgoxMjcuMC4wLjFSbQAAAAABAAAAAAAAAAAAAAADAAAA"
    "PwAAAAACc0R2OAAgAAAAAAAAAaHeuM9eAAABod64z17//////////////////wAAAAEaAAAACAAAAAQGAAAAAA=="
)
VOTERS = VoterSet(
    (
        Voter(
            ReplicaKey(1, uuid_from_text("NhEP1HmWTzWMNmMcJ30IUA")), (VoterEndpoint("CONTROLLER", "127.0.0.1", 21101),)
        ),
    )
)


def test_kafkas_bootstrap_file_can_be_read() -> None:
    contents = read_snapshot(KAFKA_BOOTSTRAP)
    assert contents.records[0] == FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert len(contents.records) == 6
    assert contents.voters is None


def test_kafkas_first_snapshot_names_the_voters() -> None:
    contents = read_snapshot(KAFKA_FIRST_SNAPSHOT)
    assert (contents.kraft_version, contents.voters) == (1, VOTERS)


@pytest.mark.parametrize("file", [KAFKA_BOOTSTRAP, KAFKA_FIRST_SNAPSHOT])
def test_the_batches_are_kafkas_byte_for_byte(file: bytes) -> None:
    written = b""
    for batch in read_metadata_batches(file):
        place = (batch.base_offset, batch.epoch, batch.timestamp_ms)
        if batch.control:
            written += encode_control_batch(batch.control, *place)
        else:
            written += encode_values([encode_record(record) for record in batch.records], *place)
    assert written == file


def whole(count: int = 3) -> bytes:
    records = [TopicRecord(name=f"t{n}", topic_id=n.to_bytes(16)) for n in range(count)]
    batches = encode_snapshot(
        records, epoch=4, now_ms=9, last_contained_log_timestamp_ms=7, voters=VOTERS, kraft_version=1
    )
    return b"".join(batches)


def test_a_snapshot_holds_many_batches_of_records() -> None:
    contents = read_snapshot(whole(3000))
    assert [record.name for record in contents.records] == [f"t{n}" for n in range(3000)]
    assert contents.last_contained_log_timestamp_ms == 7
    image = contents.image(OffsetAndEpoch(5000, 4))
    assert (len(image.topics), image.end_offset, image.epoch) == (3000, 5000, 4)


def test_a_snapshot_cut_anywhere_is_refused() -> None:
    data = whole()
    for size in range(len(data)):
        with pytest.raises(UnreadableMetadata):
            read_snapshot(data[:size])


def test_a_flipped_bit_behind_a_checksum_is_noticed() -> None:
    data = bytearray(whole())
    data[len(data) // 2] ^= 1
    with pytest.raises(UnreadableMetadata):
        read_snapshot(data)


def test_nothing_follows_the_footer() -> None:
    with pytest.raises(UnreadableMetadata, match="after its footer"):
        read_snapshot(whole() + whole())


def test_file_names_carry_offset_and_epoch() -> None:
    name = "00000000000000000082-0000000001.checkpoint"
    assert snapshot_file_name(OffsetAndEpoch(82, 1)) == name
    assert parse_snapshot_file_name(name) == OffsetAndEpoch(82, 1)


@pytest.mark.parametrize("name", ["bootstrap.checkpoint", "leader-epoch-checkpoint", "82-1.checkpoint"])
def test_other_files_are_no_snapshots(name: str) -> None:
    assert parse_snapshot_file_name(name) is None
