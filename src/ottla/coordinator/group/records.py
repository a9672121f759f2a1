"""The records of `__consumer_offsets`, between our values and Kafka's bytes.

A key begins with an int16 that says what the record is, a value with the int16 version of its schema. As Kafka 4.3
(metadata.version 30) we write OffsetCommit values in version 4, with the topic's id, and GroupMetadata values in
version 3; a commit with its own expiry time, which only the requests of versions 2-4 can ask for, needs version 1.
A null value deletes. All older versions are read.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.unserved_kinds import describe_kind
from ottla.coordinator.state_machine import UnknownRecord
from ottla.protocol.codec import MalformedMessage, decode_at, encode
from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.uuids import ZERO_UUID

NO_TIMESTAMP = -1

_INT16 = struct.Struct(">h")
# The offset key was given a second type when it lost its timestamp; logs that old still hold type 0.
_OFFSET_KEY_TYPES = (0, OffsetCommitKey.API_KEY)
_KEY_VERSION = 0
_OFFSET_KEY_PREFIX = _INT16.pack(OffsetCommitKey.API_KEY)
_GROUP_KEY_PREFIX = _INT16.pack(GroupMetadataKey.API_KEY)
_OFFSET_VALUE_VERSION = 4
_OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
_GROUP_VALUE_VERSION = 3


class CommittedOffset(NamedTuple):
    """The position a group has reached in a partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    # Set only by clients that still send a retention time (OffsetCommit before version 5).
    expire_timestamp_ms: int = NO_TIMESTAMP
    topic_id: bytes = ZERO_UUID


class OffsetRecord(NamedTuple):
    """A group's offset in one partition changes; None deletes it."""

    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class GroupRecord(NamedTuple):
    """A classic group's metadata changes; None deletes the group."""

    group_id: str
    value: GroupMetadataValue | None


GroupCoordinatorRecord = OffsetRecord | GroupRecord


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> GroupRecord:
    """The group as it is, with the assignments it is about to have."""
    return GroupRecord(
        group.group_id,
        GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=group.generation_id,
            protocol=group.protocol_name,
            leader=group.leader_id,
            current_state_timestamp=group.state_timestamp_ms,
            members=[
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(group.protocol_name),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in group.members.values()
            ],
        ),
    )


def empty_group_record(group_id: str, state_timestamp_ms: int) -> GroupRecord:
    """A group that was just created and has no generation yet."""
    return GroupRecord(
        group_id,
        GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=state_timestamp_ms),
    )


def encode_record(record: GroupCoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as they go into a record batch."""
    if isinstance(record, GroupRecord):
        key = _GROUP_KEY_PREFIX + encode(GroupMetadataKey(group=record.group_id), _KEY_VERSION)
        if record.value is None:
            return key, None
        return key, _INT16.pack(_GROUP_VALUE_VERSION) + encode(record.value, _GROUP_VALUE_VERSION)
    key = _OFFSET_KEY_PREFIX + encode(
        OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition), _KEY_VERSION
    )
    committed = record.value
    if committed is None:
        return key, None
    has_expiry = committed.expire_timestamp_ms != NO_TIMESTAMP
    version = _OFFSET_VALUE_VERSION_WITH_EXPIRY if has_expiry else _OFFSET_VALUE_VERSION
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    return key, _INT16.pack(version) + encode(value, version)


def decode_record(key: bytes | memoryview, value: bytes | memoryview | None) -> GroupCoordinatorRecord:
    """The record behind the bytes. UnknownRecord for kinds of a newer Kafka, MalformedMessage for damaged ones."""
    kind = _read_int16(key)
    if kind in _OFFSET_KEY_TYPES:
        offset_key, _ = decode_at(OffsetCommitKey, key, _KEY_VERSION, _INT16.size)
        committed = None if value is None else _decode_offset(value)
        return OffsetRecord(offset_key.group, offset_key.topic, offset_key.partition, committed)
    if kind == GroupMetadataKey.API_KEY:
        group_key, _ = decode_at(GroupMetadataKey, key, _KEY_VERSION, _INT16.size)
        if value is None:
            return GroupRecord(group_key.group, None)
        version = _known_version(GroupMetadataValue.VERSIONS, value)
        return GroupRecord(group_key.group, decode_at(GroupMetadataValue, value, version, _INT16.size)[0])
    raise UnknownRecord(describe_kind(kind))


def _decode_offset(value: bytes | memoryview) -> CommittedOffset:
    version = _known_version(OffsetCommitValue.VERSIONS, value)
    message, _ = decode_at(OffsetCommitValue, value, version, _INT16.size)
    return CommittedOffset(
        message.offset,
        message.leader_epoch,
        message.metadata,
        message.commit_timestamp,
        message.expire_timestamp,
        message.topic_id,
    )


def _known_version(versions: range, value: bytes | memoryview) -> int:
    version = _read_int16(value)
    if version not in versions:
        raise UnknownRecord(f"value version {version}")
    return version


def _read_int16(buffer: bytes | memoryview) -> int:
    if len(buffer) < _INT16.size:
        raise MalformedMessage(f"a key or value of {len(buffer)} bytes has no type")
    version: int = _INT16.unpack_from(buffer)[0]
    return version
