import pytest

from ottla.metadata.record_serde import UnreadableMetadata, decode_record, encode_record
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.messages.topic_record import TopicRecord

# As Kafka 4.3 writes FeatureLevelRecord(metadata.version, 30) into its log.
KAFKA_FEATURE_LEVEL = bytes.fromhex("010c00116d657461646174612e76657273696f6e001e00")


def test_records_look_as_kafka_writes_them() -> None:
    record = FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert encode_record(record) == KAFKA_FEATURE_LEVEL
    assert decode_record(KAFKA_FEATURE_LEVEL) == record


def test_a_record_survives_the_frame() -> None:
    record = TopicRecord(name="t", topic_id=b"0123456789abcdef")
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"", "without a whole frame"),
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x7f\x00", "kind 127 version 0 was written by a newer release"),
        (b"\x01\x02\x05", "TopicRecord version 5 was written by a newer release"),
        (b"\x01\x02\x00\x05ab", "TopicRecord version 0 is malformed"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_a_reason(value: bytes, complaint: str) -> None:
    with pytest.raises(UnreadableMetadata, match=complaint):
        decode_record(value)


def test_an_empty_record_is_only_its_frame() -> None:
    assert encode_record(NoOpRecord()) == b"\x01\x14\x00\x00"
