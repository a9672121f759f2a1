"""The judge of the registry's chaos: a true story passes, and each lie is named."""

import json

import pytest

from harness.schema_history import Configured, Deleting, Event, Found, LogEntry, Placed, Registered, anomalies


def schema(offset: int, version: int, schema_id: int, text: str | None, *, epoch: int = 0, by: int = 7) -> LogEntry:
    key = {"keytype": "SCHEMA", "subject": "s", "version": version, "magic": 1}
    value = None if text is None else json.dumps({"id": schema_id, "schema": text, "deleted": False}).encode()
    return LogEntry(offset, by, epoch, json.dumps(key).encode(), value)


def level(offset: int, value: str) -> LogEntry:
    key = {"keytype": "CONFIG", "subject": "s", "magic": 0}
    return LogEntry(offset, 7, 9, json.dumps(key).encode(), json.dumps({"compatibilityLevel": value}).encode())


LOG = [schema(0, 1, 1, "a"), schema(2, 2, 2, "b", epoch=1), schema(4, 3, 3, "c", epoch=1), level(6, "FULL")]
STORY: list[Event] = [
    Registered("s", "a", 1),
    Found(1, "a", "instance 1"),
    Placed("s", "a", (1, 1), "instance 2"),
    Registered("s", "c", 3),
    Configured("s", "NONE"),
    Configured("s", "FULL"),
]


def test_a_true_story_passes() -> None:
    assert anomalies(STORY, LOG) == []


def test_what_was_deleted_need_not_be_there_and_may_be() -> None:
    assert anomalies([*STORY, Deleting("s", "a")], LOG) == []
    assert anomalies([*STORY, Deleting("s", "a")], [*LOG, schema(8, 1, 0, None, epoch=9)]) == []


@pytest.mark.parametrize(
    ("lie", "found"),
    [
        (Registered("s", "d", 1), "id 1 is 2 schemas"),
        (Registered("s", "a", 4), "a has the ids [1, 4]"),
        (Found(1, "b", "instance 1"), "id 1 is 2 schemas"),
        (Found(1, None, "instance 1"), "instance 1 did not know id 1"),
        (Placed("s", "c", None, "instance 3"), "instance 3 did not know c in s"),
        (Placed("s", "c", (1, 3), "instance 3"), "version 1 of s has the ids [1, 3]"),
        (Registered("s", "e", 5), "e was registered in s with id 5, and is not there"),
        (Configured("s", "BACKWARD"), "s was set to BACKWARD, and is FULL"),
    ],
)
def test_a_lie_to_a_client_is_noticed(lie: Event, found: str) -> None:
    assert any(found in one for one in anomalies([*STORY, lie], LOG))


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (schema(8, 4, 0, "e", epoch=9), "has id 0, after 3"),
        (schema(8, 4, 3, "e", epoch=9), "has id 3, which is another schema"),
        (schema(8, 3, 1, "a", epoch=9), "was id 3 and is 1"),
        (schema(8, 1, 0, None, epoch=9), "a was registered in s with id 1, and is not there"),
        (schema(8, 4, 4, "d", epoch=0), "in epoch 0, after epoch 9"),
    ],
)
def test_a_wrong_record_is_noticed(entry: LogEntry, found: str) -> None:
    assert any(found in one for one in anomalies(STORY, [*LOG, entry]))


def test_a_writer_that_comes_back_is_noticed() -> None:
    log = [*LOG, schema(8, 4, 4, "d", by=8), schema(10, 5, 5, "e", epoch=9)]
    assert any("offset 10 was written by producer 7" in one for one in anomalies(STORY, log))
