"""The records of coordinators: a key that begins with the type of the record, a value that begins with its version.

Each internal topic has types of its own. Their classes are imported when the first record is looked at.
"""

import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple

from ottla.cli.log_files.message_json import message_to_json
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


class UnreadableRecord(Exception):
    """A record whose bytes do not fit its type."""


class RecordTypes:
    """The types of records in one topic, by number."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._kinds: Mapping[int, Kind] | None = None

    def decode(self, key: bytes, value: bytes | None) -> tuple[dict[str, object], dict[str, object] | None]:
        """Key and value as JSON, None for a value that deletes."""
        if len(key) < _INT16.size:
            raise UnreadableRecord("Could not read version from key's buffer.")
        (number,) = _INT16.unpack_from(key)
        kind = self._known().get(number)
        if kind is None:
            raise UnknownType(f"Unknown record type {number}")
        shown_key: dict[str, object] = {"type": str(number), "data": _message(kind.key, key, 0, number, "key")}
        if value is None:
            return shown_key, None
        if len(value) < _INT16.size:
            raise UnreadableRecord("Could not read version from value's buffer.")
        (version,) = _INT16.unpack_from(value)
        if version not in kind.value.VERSIONS:
            raise UnreadableRecord(f"Found an unknown record version {version} for {number} type")
        return shown_key, {"version": str(version), "data": _message(kind.value, value, version, number, "value")}

    def _known(self) -> Mapping[int, Kind]:
        if self._kinds is None:
            kinds = [Kind(_class(f"{name}Key"), _class(f"{name}Value")) for name in self._names]
            self._kinds = {kind.key.API_KEY: kind for kind in kinds}
        return self._kinds


GROUP_RECORDS: Final = RecordTypes(*_GROUP_KINDS)
TRANSACTION_RECORDS: Final = RecordTypes("TransactionLog")
SHARE_STATE_RECORDS: Final = RecordTypes("ShareSnapshot", "ShareUpdate")


def _class(name: str) -> type[Message]:
    module = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    found: type[Message] = getattr(import_module(f"ottla.protocol.messages.{module}"), name)
    return found


def _message(cls: type[Message], data: bytes, version: int, number: int, part: str) -> dict[str, object]:
    try:
        message, _ = decode_at(cls, data, version, _INT16.size)
    except MalformedMessage as error:
        raise UnreadableRecord(
            f"Could not read record with version {number} from {part}'s buffer due to: {error}."
        ) from error
    shown = message_to_json(message, version)
    if isinstance(message, GroupMetadataValue) and message.protocol_type == "consumer":
        _open_members(message, shown)
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
                row[name] = _message(cls, data, version, version, name)
