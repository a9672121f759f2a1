import json

import pytest

from ottla.cli.log.decoders import (
    BYTES_DECODERS,
    bytes_decoder,
    control_text,
    decoder_of,
    metadata_decoder,
    offsets_decoder,
    remote_log_decoder,
    share_state_decoder,
    transactions_decoder,
)
from ottla.cli.log.segments import UnreadableLog
from ottla.metadata.record_serde import encode_record
from ottla.protocol.codec import encode
from ottla.protocol.messages.remote_partition_delete_metadata_record import RemotePartitionDeleteMetadataRecord
from ottla.protocol.messages.share_snapshot_key import ShareSnapshotKey
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.records import Record


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(0, 0, key, value, ())


def test_text_is_shown_even_where_it_is_none() -> None:
    decode = bytes_decoder()
    assert decode(0, record(b"k", b"v")) == ("k", "v")
    assert decode(0, record(None, b"\xff")) == (None, "�")


def test_numbers_are_decoded_and_short_ones_refused() -> None:
    decode = bytes_decoder(BYTES_DECODERS["IntegerDecoder"], BYTES_DECODERS["LongDecoder"])
    assert decode(0, record(b"\0\0\0\x07", b"\0\0\0\0\0\0\0\x08")) == ("7", "8")
    with pytest.raises(UnreadableLog, match="shorter"):
        decode(0, record(b"\x07", None))


def test_an_offset_record_is_its_key_and_value() -> None:
    key = b"\0\x01\0\x01g\0\x01t\0\0\0\x02"
    decoded = offsets_decoder(0, record(key, b"\0\x00" + bytes(7) + b"\x09\0\0" + bytes(8)))
    assert json.loads(str(decoded.key)) == {"type": "1", "data": {"group": "g", "topic": "t", "partition": 2}}
    assert json.loads(str(decoded.payload))["data"]["offset"] == 9
    assert offsets_decoder(0, record(key, None)).payload == "<DELETE>"


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (b"\0\x63", b"\0\0", "Unknown record type 99 at offset 7, skipping."),
        (b"\0", b"\0\0", "Error at offset 7, skipping."),
        (b"\0\x01\0", b"\0\0", "Error at offset 7, skipping."),
        (b"\0\x02\0\x01g", b"\0\x63", "unknown record version 99 for 2 type"),
        (b"\0\x02\0\x01g", b"\0", "version from value"),
    ],
)
def test_what_cannot_be_decoded_is_a_sentence(key: bytes, value: bytes, sentence: str) -> None:
    decoded = offsets_decoder(7, record(key, value))
    assert sentence in str(decoded.key)
    assert decoded.payload is None


def test_a_record_of_a_coordinator_has_a_key() -> None:
    with pytest.raises(UnreadableLog, match="missing key"):
        offsets_decoder(7, record(None, b""))


def test_other_coordinators_have_types_of_their_own() -> None:
    transaction = b"\0\0" + encode(TransactionLogKey(transactional_id="tx"), 0)
    assert '"transactionalId":"tx"' in str(transactions_decoder(0, record(transaction, None)).key)
    share = b"\0\0" + encode(ShareSnapshotKey(group_id="g"), 0)
    assert '"groupId":"g"' in str(share_state_decoder(0, record(share, None)).key)


def test_metadata_names_its_type_and_version() -> None:
    decoded = metadata_decoder(0, record(None, encode_record(TopicRecord(name="orders"))))
    shown = json.loads(str(decoded.payload))
    assert (shown["type"], shown["version"], shown["data"]["name"]) == ("TOPIC_RECORD", 0, "orders")
    assert "Error at 3, skipping" in str(metadata_decoder(3, record(None, b"\x09")).payload)


def test_remote_log_metadata_is_decoded() -> None:
    framed = bytes((1, 2, 0)) + encode(RemotePartitionDeleteMetadataRecord(broker_id=4), 0)
    assert '"brokerId":4' in str(remote_log_decoder(0, record(None, framed)).payload)
    assert "Error at offset 3" in str(remote_log_decoder(3, record(None, b"\x02\x00\x00")).payload)


def test_control_records_say_what_they_are() -> None:
    assert control_text(record(b"\0\0\0\x01", b"\0\0\0\0\0\x05")) == "endTxnMarker: COMMIT coordinatorEpoch: 5"
    assert control_text(record(b"\0\0\0\x04", b"\0\0\0")) == 'SnapshotFooter {"version":0}'
    assert "UNKNOWN" in control_text(record(b"\0\0\0\x63", b""))
    assert "unreadable" in control_text(record(b"\0\0\0\x04", b"\0\0"))


def test_the_topic_decides_how_records_are_read() -> None:
    assert decoder_of("__consumer_offsets") is offsets_decoder
    assert decoder_of("orders")(0, record(b"k", b"v")) == ("k", "v")
