import pytest

from ottla.cli.exits import UsageError
from ottla.cli.kafka.console.message_formatters import coordinator_json, formatter_named
from ottla.cli.log.coordinator_records import OFFSET_RECORDS, UnreadableRecord
from ottla.protocol.codec import encode
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.record_batch import TimestampType
from unit.cli.made_records import NOW_MS, record

DEFAULT = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
EVERYTHING = {f"print.{name}": "true" for name in ("timestamp", "partition", "offset", "epoch", "headers", "key")}


def test_only_the_value_is_printed_by_default() -> None:
    write = formatter_named(DEFAULT, {})
    assert write(record(b"v", b"k")) == b"v\n"
    assert write(record(None)) == b"null\n"


def test_parts_are_printed_in_apaches_order() -> None:
    write = formatter_named("kafka.tools.DefaultMessageFormatter", EVERYTHING)
    expected = b"CreateTime:%d\tPartition:0\tOffset:7\tEpoch:NOT_PRESENT\th:1,n:null\tnull\tv\n" % NOW_MS
    assert write(record(b"v", None, (("h", b"1"), ("n", None)))) == expected


def test_separators_and_nulls_can_be_chosen() -> None:
    own = {
        "print.key": "true",
        "print.value": "false",
        "key.separator": ":",
        "line.separator": "|",
        "null.literal": "-",
    }
    write = formatter_named(DEFAULT, {**own, "print.headers": "true", "headers.separator": ";"})
    assert write(record(b"v", None, (("a", b"1"), ("a", None)))) == b"a:1;a:-:-|"
    assert write(record(b"v", b"k")) == b"NO_HEADERS:k|"


def test_the_kind_of_time_is_told() -> None:
    write = formatter_named(DEFAULT, {"print.timestamp": "true", "print.value": "false"})
    assert write(record(timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp_ms=5)) == b"LogAppendTime:5\n"
    assert write(record(timestamp_ms=-1)) == b"NO_TIMESTAMP\n"


def test_a_deserializer_that_is_not_there_is_told_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write = formatter_named(DEFAULT, {"value.deserializer": "a.B"})
    assert "Unable to instantiate a deserializer from a.B" in capsys.readouterr().err
    assert write(record(b"v")) == b"v\n"


def test_the_logging_formatter_tells_each_record(capsys: pytest.CaptureFixture[str]) -> None:
    write = formatter_named("org.apache.kafka.tools.consumer.LoggingMessageFormatter", {})
    assert write(record(b"v", b"k", timestamp_ms=5)) == b"v\n"
    assert capsys.readouterr().err == "CreateTime:5, key:k, value:v\n"


def test_nothing_can_be_printed_as_well() -> None:
    assert formatter_named("NoOpMessageFormatter", {})(record()) == b""


def test_a_class_of_somebody_else_cannot_be_loaded() -> None:
    with pytest.raises(UsageError, match=r"com\.example\.Mine"):
        formatter_named("com.example.Mine", {})


def test_offsets_are_json() -> None:
    key = b"\0\1" + encode(OffsetCommitKey(group="g", topic="t", partition=2), 0)
    value = b"\0\3" + encode(OffsetCommitValue(offset=5, leader_epoch=1, metadata="", commit_timestamp=9), 3)
    data = b'"data":{"offset":5,"leaderEpoch":1,"metadata":"","commitTimestamp":9}'
    where = b'{"key":{"type":1,"data":{"group":"g","topic":"t","partition":2}},"value":'
    assert coordinator_json(record(value, key), OFFSET_RECORDS) == where + b'{"version":3,' + data + b"}}"
    assert coordinator_json(record(None, key), OFFSET_RECORDS) == where + b"null}"
    assert coordinator_json(record(None, b"\0\2"), OFFSET_RECORDS) == b""
    assert coordinator_json(record(None, None), OFFSET_RECORDS) == b""


def test_a_record_of_a_coordinator_may_be_unknown_or_damaged() -> None:
    key = b"\0\1" + encode(OffsetCommitKey(group="g", topic="t", partition=2), 0)
    assert b'"value":{"version":99,"data":"unknown"}' in coordinator_json(record(b"\0\x63", key), OFFSET_RECORDS)
    for damaged_key, damaged_value in ((b"\0", None), (key[:-1], None), (key, b""), (key, b"\0\3\0")):
        with pytest.raises(UnreadableRecord, match="Could not read"):
            coordinator_json(record(damaged_value, damaged_key), OFFSET_RECORDS)
