"""How Apache's console consumer writes records: by the formatter's class name, old or new, and its properties."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import UsageError
from ottla.cli.kafka.console.java_deserializers import Deserializer, deserializer_named
from ottla.cli.kafka.frame.java_errors import log_error

if TYPE_CHECKING:
    from ottla.cli.log.coordinator_records import RecordTypes
    from ottla.client import Record

Formatter = Callable[["Record"], bytes]

_PACKAGE: Final = "org.apache.kafka.tools.consumer."
_DEFAULT_CLASS: Final = f"{_PACKAGE}DefaultMessageFormatter"
_OLD_NAMES: Final = {
    "kafka.tools.DefaultMessageFormatter": "DefaultMessageFormatter",
    "kafka.tools.LoggingMessageFormatter": "LoggingMessageFormatter",
    "kafka.tools.NoOpMessageFormatter": "NoOpMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": "OffsetsMessageFormatter",
    "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter": "OffsetsMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": "GroupMetadataMessageFormatter",
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": "TransactionLogMessageFormatter",
}
NAMES: Final = (
    "DefaultMessageFormatter",
    "LoggingMessageFormatter",
    "NoOpMessageFormatter",
    "OffsetsMessageFormatter",
    "GroupMetadataMessageFormatter",
    "TransactionLogMessageFormatter",
)


def formatter_named(name: str, properties: Mapping[str, str]) -> Formatter:
    """The formatter of a class."""
    short = _OLD_NAMES.get(name, name.removeprefix(_PACKAGE))
    if short not in NAMES:
        raise UsageError(f"{name}: Java classes cannot be loaded; of {_PACKAGE}* there are {', '.join(NAMES)}.")
    if short == "NoOpMessageFormatter":
        return lambda _: b""
    if short == "DefaultMessageFormatter":
        return DefaultFormatter.from_properties(properties).write
    if short == "LoggingMessageFormatter":
        return _logging(DefaultFormatter.from_properties(properties).write)
    from ottla.cli.log.coordinator_records import CLASSIC_GROUP_RECORDS, OFFSET_RECORDS, TRANSACTION_RECORDS

    types = {
        "OffsetsMessageFormatter": OFFSET_RECORDS,
        "GroupMetadataMessageFormatter": CLASSIC_GROUP_RECORDS,
        "TransactionLogMessageFormatter": TRANSACTION_RECORDS,
    }[short]
    return lambda record: coordinator_json(record, types)


@dataclass(frozen=True, slots=True)
class DefaultFormatter:
    """Parts of a record one after the other, the key's separator between them and the line's after the last."""

    prints_timestamp: bool = False
    prints_partition: bool = False
    prints_offset: bool = False
    prints_epoch: bool = False
    prints_headers: bool = False
    prints_key: bool = False
    prints_value: bool = True
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"
    headers_separator: bytes = b","
    null: bytes = b"null"
    key_deserializer: Deserializer = bytes
    value_deserializer: Deserializer = bytes
    header_deserializer: Deserializer = bytes

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "DefaultFormatter":
        """A formatter as `print.key=true`, `key.separator=:` and the like want it."""

        def flag(name: str, *, default: bool = False) -> bool:
            text = properties.get(f"print.{name}")
            return default if text is None else text.strip().lower() == "true"

        def text(name: str, default: bytes) -> bytes:
            given = properties.get(name)
            return default if given is None else given.encode(errors="surrogateescape")

        return cls(
            prints_timestamp=flag("timestamp"),
            prints_partition=flag("partition"),
            prints_offset=flag("offset"),
            prints_epoch=flag("epoch"),
            prints_headers=flag("headers"),
            prints_key=flag("key"),
            prints_value=flag("value", default=True),
            key_separator=text("key.separator", b"\t"),
            line_separator=text("line.separator", b"\n"),
            headers_separator=text("headers.separator", b","),
            null=text("null.literal", b"null"),
            key_deserializer=_deserializer(properties.get("key.deserializer")),
            value_deserializer=_deserializer(properties.get("value.deserializer")),
            header_deserializer=_deserializer(
                properties.get("header.deserializer", properties.get("headers.deserializer"))
            ),
        )

    def write(self, record: "Record") -> bytes:
        """The record; ValueError if a deserializer cannot read it."""
        parts = []
        if self.prints_timestamp:
            kind = b"LogAppendTime" if record.timestamp_type else b"CreateTime"
            parts.append(b"%b:%d" % (kind, record.timestamp_ms) if record.timestamp_ms >= 0 else b"NO_TIMESTAMP")
        if self.prints_partition:
            parts.append(b"Partition:%d" % record.partition)
        if self.prints_offset:
            parts.append(b"Offset:%d" % record.offset)
        if self.prints_epoch:
            # Apache's console consumer drops the epoch on the way to its formatter.
            parts.append(b"Epoch:NOT_PRESENT")
        if self.prints_headers:
            parts.append(self._headers(record))
        if self.prints_key:
            parts.append(self._field(record.key, self.key_deserializer))
        if self.prints_value:
            parts.append(self._field(record.value, self.value_deserializer))
        return self.key_separator.join(parts) + self.line_separator if parts else b""

    def _headers(self, record: "Record") -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self.headers_separator.join(
            name.encode() + b":" + self._field(value, self.header_deserializer) for name, value in record.headers
        )

    def _field(self, data: bytes | None, deserializer: Deserializer) -> bytes:
        # As Apache's does: what stands for null passes through the deserializer, too.
        return deserializer(self.null if data is None else data)


def _deserializer(name: str | None) -> Deserializer:
    if name is None:
        return bytes
    found = deserializer_named(name)
    if found is None:
        log_error(f"Unable to instantiate a deserializer from {name}", _DEFAULT_CLASS)
        return bytes
    return found


def _logging(write: Formatter) -> Formatter:
    """As the default one, and a line for each record on stderr."""

    def log(record: "Record") -> bytes:
        kind = "LogAppendTime" if record.timestamp_type else "CreateTime"
        key, value = ("null" if data is None else data.decode(errors="replace") for data in (record.key, record.value))
        print(f"{kind}:{record.timestamp_ms}, key:{key}, value:{value}", file=sys.stderr)
        return write(record)

    return log


def coordinator_json(record: "Record", types: "RecordTypes") -> bytes:
    """A coordinator's record as JSON, or nothing if it is of another type; ValueError if its bytes do not fit its type.

    No line end follows, because Apache's formatters write none.
    """
    from ottla.cli.log.coordinator_records import UnknownType
    from ottla.cli.log.message_json import message_to_json

    if record.key is None:
        return b""
    try:
        found = types.decode(record.key, record.value)
    except UnknownType:
        return b""
    shown: dict[str, object] = {"key": {"type": found.type, "data": message_to_json(found.key, 0)}, "value": None}
    if found.version is not None:
        data = "unknown" if found.value is None else message_to_json(found.value, found.version)
        shown["value"] = {"version": found.version, "data": data}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
