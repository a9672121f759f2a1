"""What a record's key and value say, by the topic it is in: text, group offsets, transactions, metadata.

A record that cannot be understood is shown as a sentence in its place, so that the rest of a file can still be read.
"""

import json
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from ottla.cli.log.coordinator_records import (
    GROUP_RECORDS,
    SHARE_STATE_RECORDS,
    TRANSACTION_RECORDS,
    CoordinatorRecord,
    RecordTypes,
    UnknownType,
    UnreadableRecord,
    value_json,
)
from ottla.cli.log.message_json import message_to_json
from ottla.cli.log.segments import UnreadableLog, control_type
from ottla.metadata.record_serde import UnreadableMetadata, decode_record
from ottla.protocol.codec import MalformedMessage, decode
from ottla.protocol.control_records import ControlType
from ottla.protocol.messages.k_raft_version_record import KRaftVersionRecord
from ottla.protocol.messages.leader_change_message import LeaderChangeMessage
from ottla.protocol.messages.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
from ottla.protocol.messages.remote_log_segment_metadata_snapshot_record import RemoteLogSegmentMetadataSnapshotRecord
from ottla.protocol.messages.remote_log_segment_metadata_update_record import RemoteLogSegmentMetadataUpdateRecord
from ottla.protocol.messages.remote_partition_delete_metadata_record import RemotePartitionDeleteMetadataRecord
from ottla.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from ottla.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from ottla.protocol.messages.voters_record import VotersRecord
from ottla.protocol.primitives import read_uvarint
from ottla.protocol.records import Record
from ottla.protocol.schema import Message


class Decoded(NamedTuple):
    """A record's key and payload as text; None is not shown."""

    key: str | None
    payload: str | None


# From a record's offset and the record.
Decoder = Callable[[int, Record], Decoded]
BytesDecoder = Callable[[bytes], str]

_DELETED: Final = "<DELETE>"
_FRAME_VERSION: Final = 1
_REMOTE_RECORDS: Final = {
    cls.API_KEY: cls
    for cls in (
        RemoteLogSegmentMetadataRecord,
        RemoteLogSegmentMetadataUpdateRecord,
        RemotePartitionDeleteMetadataRecord,
        RemoteLogSegmentMetadataSnapshotRecord,
    )
}


def to_json(value: object) -> str:
    """JSON without spaces, as Kafka's tools print it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _number(form: str) -> BytesDecoder:
    unpacker = struct.Struct(form)

    def decode_number(data: bytes) -> str:
        if len(data) < unpacker.size:
            raise UnreadableLog(f"{data!r} is shorter than a number of {unpacker.size} bytes")
        return str(unpacker.unpack_from(data)[0])

    return decode_number


# By the last part of the names of Kafka's decoder classes.
BYTES_DECODERS: Final[dict[str, BytesDecoder]] = {
    "StringDecoder": _text,
    "DefaultDecoder": bytes.hex,
    "IntegerDecoder": _number(">i"),
    "LongDecoder": _number(">q"),
}


def bytes_decoder(key: BytesDecoder = _text, value: BytesDecoder = _text) -> Decoder:
    """Keys and values that mean nothing more than themselves."""

    def decoded(_: int, record: Record) -> Decoded:
        return Decoded(
            None if record.key is None else key(record.key), None if record.value is None else value(record.value)
        )

    return decoded


def _coordinator_decoder(types: RecordTypes) -> Decoder:
    def decoded(offset: int, record: Record) -> Decoded:
        if record.key is None:
            raise UnreadableLog(
                f"Failed to decode message at offset {offset} using the specified decoder (message had a missing key)"
            )
        try:
            found = types.decode(record.key, record.value)
            return Decoded(to_json(_key_json(found)), _payload(found))
        except UnknownType as error:
            return Decoded(f"{error} at offset {offset}, skipping.", None)
        except UnreadableRecord as error:
            return Decoded(f"Error at offset {offset}, skipping. {error}", None)

    return decoded


def _key_json(found: CoordinatorRecord) -> dict[str, object]:
    return {"type": str(found.type), "data": message_to_json(found.key, 0)}


def _payload(found: CoordinatorRecord) -> str:
    if found.version is None:
        return _DELETED
    if found.value is None:
        raise UnreadableRecord(f"Found an unknown record version {found.version} for {found.type} type")
    return to_json({"version": str(found.version), "data": value_json(found)})


offsets_decoder: Final = _coordinator_decoder(GROUP_RECORDS)
transactions_decoder: Final = _coordinator_decoder(TRANSACTION_RECORDS)
share_state_decoder: Final = _coordinator_decoder(SHARE_STATE_RECORDS)


def metadata_decoder(offset: int, record: Record) -> Decoded:
    """The records of the metadata log and its snapshots."""
    value = record.value or b""
    try:
        message = decode_record(value)
        _, position = read_uvarint(value, 0)
        _, position = read_uvarint(value, position)
        version, _ = read_uvarint(value, position)
    except UnreadableMetadata as error:
        return Decoded(None, f"Error at {offset}, skipping. {error}")
    shown = {"type": _type_name(message), "version": version, "data": message_to_json(message, version)}
    return Decoded(None, to_json(shown))


def remote_log_decoder(offset: int, record: Record) -> Decoded:
    """The records of the topic that says which segments are in remote storage."""
    value = record.value or b""
    try:
        frame_version, position = read_uvarint(value, 0)
        api_key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
        if frame_version != _FRAME_VERSION or api_key not in _REMOTE_RECORDS:
            raise ValueError(f"unknown frame version {frame_version} or record type {api_key}")
        message = decode(_REMOTE_RECORDS[api_key], memoryview(value)[position:], version)
    except (IndexError, ValueError) as error:
        return Decoded(None, f"Error at offset {offset}, skipping. {error}")
    shown = {"type": _type_name(message), "version": version, "data": message_to_json(message, version)}
    return Decoded(None, to_json(shown))


def _type_name(message: Message) -> str:
    name = type(message).__name__
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name).lstrip("_")


_QUORUM_MESSAGES: Final[dict[ControlType, tuple[str, type[Message]]]] = {
    ControlType.LEADER_CHANGE: ("LeaderChange:", LeaderChangeMessage),
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", SnapshotHeaderRecord),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", SnapshotFooterRecord),
    ControlType.KRAFT_VERSION: ("KRaftVersion", KRaftVersionRecord),
    ControlType.KRAFT_VOTERS: ("KRaftVoters", VotersRecord),
}


def control_text(record: Record) -> str:
    """What a control record says."""
    kind = control_type(record)
    value = record.value or b""
    if kind in (ControlType.COMMIT, ControlType.ABORT) and len(value) >= 6:
        epoch = int.from_bytes(value[2:6], "big", signed=True)
        return f"endTxnMarker: {kind.name} coordinatorEpoch: {epoch}"
    if kind in _QUORUM_MESSAGES and len(value) >= 2:
        title, cls = _QUORUM_MESSAGES[kind]
        version = int.from_bytes(value[:2], "big", signed=True)
        if version in cls.VERSIONS:
            try:
                return f"{title} {to_json(message_to_json(decode(cls, value, version), version))}"
            except MalformedMessage as error:
                return f"{title} unreadable: {error}"
    return f"controlType: UNKNOWN({(record.key or b'').hex()})"


# By the topic whose directory a file is in.
_TOPIC_DECODERS: Final[dict[str, Decoder]] = {
    "__cluster_metadata": metadata_decoder,
    "__consumer_offsets": offsets_decoder,
    "__transaction_state": transactions_decoder,
    "__share_group_state": share_state_decoder,
    "__remote_log_metadata": remote_log_decoder,
}
INTERNAL_TOPICS: Final = frozenset(_TOPIC_DECODERS)


def decoder_of(topic: str) -> Decoder:
    """How the records of a topic are read."""
    return _TOPIC_DECODERS.get(topic) or bytes_decoder()
