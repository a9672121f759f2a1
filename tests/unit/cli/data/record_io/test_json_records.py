import json

import pytest

from ottla.cli.data.record_io.json_records import InputRecord, json_of, json_text, record_of_json
from ottla.protocol.control_records import ControlType, control_key
from ottla.protocol.record_batch import CONTROL_FLAG, TimestampType
from unit.cli.made_records import NOW_MS, header, record


def test_a_record_is_an_object_with_stable_names() -> None:
    shown = json_of(record(b"\xff\xfe", b"k", (("a", b"1"), ("a", None))))
    assert shown == {
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "timestamp_ms": NOW_MS,
        "timestamp_type": "create",
        "key": "k",
        "value": {"base64": "//4="},
        "headers": [{"key": "a", "value": "1"}, {"key": "a", "value": None}],
    }


def test_the_brokers_time_is_named() -> None:
    assert json_of(record(timestamp_type=TimestampType.LOG_APPEND_TIME))["timestamp_type"] == "log_append"


def test_a_marker_says_what_it_is_and_is_not_read_back() -> None:
    marker = record(b"\0\0", control_key(ControlType.COMMIT), batch=header(attributes=CONTROL_FLAG))
    assert json_of(marker)["control"] == "commit"
    with pytest.raises(ValueError, match="--control"):
        record_of_json(json_text(json_of(marker)))


def test_what_was_written_is_read_back() -> None:
    given = record(None, b"", (("a", b"\xff"), ("a", None)), partition=3, timestamp_ms=5)
    assert record_of_json(json_text(json_of(given))) == InputRecord(None, b"", (("a", b"\xff"), ("a", None)), 3, 5)


def test_a_hand_written_record_may_be_short() -> None:
    assert record_of_json(b'{"value": "x"}') == InputRecord(b"x")
    assert record_of_json(b'{"value": null, "headers": {"a": "1"}}') == InputRecord(None, None, (("a", b"1"),))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, 'no "value"'),
        ({"value": 1}, "value is neither"),
        ({"value": {"a": 1}}, "put JSON into a string"),
        ({"value": {"base64": "?"}}, "value cannot be read"),
        ({"value": "", "partition": "1"}, "partition '1' is not a whole number"),
        ({"value": "", "timestamp_ms": True}, "timestamp_ms"),
        ({"value": "", "timestamp_ms": 2**63}, "timestamp_ms"),
        ({"value": "", "headers": ["a"]}, "headers are a list"),
        ({"value": "", "headers": [{"key": 1}]}, "has no name"),
        ({"value": "", "valeu": ""}, "'valeu' is not a field"),
        ([], "not a JSON object"),
    ],
)
def test_what_is_wrong_is_named(row: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        record_of_json(json.dumps(row).encode())


def test_what_is_no_json_is_refused() -> None:
    for line in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(ValueError, match="not JSON"):
            record_of_json(line)


def test_half_a_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        record_of_json(b'{"value": "\\ud800"}')
