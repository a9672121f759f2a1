"""The records of coordinators: a key that begins with the type of the record, a value that begins with its version.

Each internal topic has types of its own. Their classes are imported when the first record is looked at.
"""

import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple

from ottla.cli.log.message_json import message_to_json
from ottla.protocol.codec import MalformedMessage, decode_at
from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.schema import Message

_INT16: Final = struct.Struct(">h")

_GROUP_KINDS: Final = (
    "LegacyOffsetCommit",
    "OffsetCommit",
    "GroupMetadata",
    "ConsumerGroupMetadata",
    "ConsumerGroupPartitionMetadata",
    "ConsumerGroupMemberMetadata",
    "ConsumerGroupTargetAssignmentMetadata",
    "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment",
    "ConsumerGroupRegularExpression",
    "ShareGroupMetadata",
    "ShareGroupMemberMetadata",
    "ShareGroupTargetAssignmentMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupStatePartitionMetadata",
    "StreamsGroupMetadata",
    "StreamsGroupMemberMetadata",
    "StreamsGroupTargetAssignmentMetadata",
    "StreamsGroupTargetAssignmentMember",
    "StreamsGroupCurrentMemberAssignment",
    "StreamsGroupTopology",
)


class Kind(NamedTuple):
    """The messages of one type of record."""

    key: type[Message]
    value: type[Message]


class UnknownType(Exception):
    """A record of a type that its topic does not have."""


class UnreadableRecord(ValueError):
    """A record whose bytes do not fit its type."""


class CoordinatorRecord(NamedTuple):
    """A record as its messages. Without a version it deletes; with one that is not known, its value is not either."""

    type: int
    key: Message
    version: int | None = None
    value: Message | None = None


class RecordTypes:
    """The types of records in one topic, by number."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._kinds: Mapping[int, Kind] | None = None

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord:
        """The record of these bytes."""
        if len(key) < _INT16.size:
            raise UnreadableRecord("Could not read version from key's buffer.")
        (number,) = _INT16.unpack_from(key)
        kind = self._known().get(number)
        if kind is None:
            raise UnknownType(f"Unknown record type {number}")
        decoded_key = _message(kind.key, key, 0, number, "key")
        if value is None:
            return CoordinatorRecord(number, decoded_key)
        if len(value) < _INT16.size:
            raise UnreadableRecord("Could not read version from value's buffer.")
        (version,) = _INT16.unpack_from(value)
        known = version in kind.value.VERSIONS
        decoded_value = _message(kind.value, value, version, number, "value") if known else None
        return CoordinatorRecord(number, decoded_key, version, decoded_value)

    def _known(self) -> Mapping[int, Kind]:
        if self._kinds is None:
            kinds = [Kind(_class(f"{name}Key"), _class(f"{name}Value")) for name in self._names]
            self._kinds = {kind.key.API_KEY: kind for kind in kinds}
        return self._kinds


GROUP_RECORDS: Final = RecordTypes(*_GROUP_KINDS)
OFFSET_RECORDS: Final = RecordTypes("LegacyOffsetCommit", "OffsetCommit")
CLASSIC_GROUP_RECORDS: Final = RecordTypes("GroupMetadata")
TRANSACTION_RECORDS: Final = RecordTypes("TransactionLog")
SHARE_STATE_RECORDS: Final = RecordTypes("ShareSnapshot", "ShareUpdate")


def _class(name: str) -> type[Message]:
    module = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    found: type[Message] = getattr(import_module(f"ottla.protocol.messages.{module}"), name)
    return found


def _message(cls: type[Message], data: bytes, version: int, number: int, part: str) -> Message:
    try:
        message, _ = decode_at(cls, data, version, _INT16.size)
    except MalformedMessage as error:
        raise UnreadableRecord(
            f"Could not read record with version {number} from {part}'s buffer due to: {error}."
        ) from error
    return message


def value_json(record: CoordinatorRecord) -> dict[str, object]:
    """A value with the subscriptions and assignments in it opened, too."""
    assert record.value is not None, "a value of a known version"
    assert record.version is not None, "a value has a version"
    shown = message_to_json(record.value, record.version)
    if isinstance(record.value, GroupMetadataValue) and record.value.protocol_type == "consumer":
        _open_members(record.value, shown)
    return shown


def _open_members(group: GroupMetadataValue, shown: dict[str, object]) -> None:
    """Members of a consumer group tell each other things in a format of their own, which is known too."""
    rows = shown["members"]
    assert isinstance(rows, list), "the members of a group are a list"
    for member, row in zip(group.members, rows, strict=True):
        for name, cls, data in (
            ("subscription", ConsumerProtocolSubscription, member.subscription),
            ("assignment", ConsumerProtocolAssignment, member.assignment),
        ):
            if len(data) >= _INT16.size:
                version = min(_INT16.unpack_from(data)[0], cls.VERSIONS[-1])
                row[name] = message_to_json(_message(cls, data, version, version, name), version)
