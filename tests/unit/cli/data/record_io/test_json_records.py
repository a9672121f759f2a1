import json
from uuid import UUID

import pytest

from ottla.cli.data.record_io.json_records import InputRecord, SchemaName, json_of, json_text, record_of_json
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


def test_a_line_that_names_schemas_holds_json_that_is_to_be_encoded() -> None:
    guid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
    line = {"key": None, "key_schema_guid": guid, "value": {"a": 1}, "value_schema_id": 7, "value_message": "p.R"}
    assert record_of_json(json_text(line)) == InputRecord(
        b'{"a": 1}', b"null", key_schema=SchemaName(None, UUID(guid)), value_schema=SchemaName(7, message="p.R")
    )


def test_a_line_without_schemas_holds_json_if_the_caller_says_so_and_null_is_a_tombstone() -> None:
    line = b'{"key": "k", "value": "v", "value_schema_id": null}'
    assert record_of_json(line, key_is_json=True, value_is_json=True) == InputRecord(b'"v"', b'"k"')
    assert record_of_json(b'{"value": null}', value_is_json=True) == InputRecord(None)


@pytest.mark.parametrize("wrong", ['"value_schema_id": "x"', '"value_schema_guid": 7'])
def test_a_schema_that_is_named_wrongly_is_told(wrong: str) -> None:
    with pytest.raises(ValueError, match="value_schema_id is a whole number"):
        record_of_json(f'{{"value": 1, {wrong}}}'.encode())


def test_halves_of_surrogate_pairs_stay_escaped() -> None:
    assert json_text({"a": "\ud800é"}) == b'{"a": "\\ud800\\u00e9"}'
    assert json_text(["é"], is_compact=True) == '["é"]'.encode()
