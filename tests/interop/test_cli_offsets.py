"""`ottla offsets` and `ottla records`, and kafka-get-offsets and kafka-delete-records beside Apache's own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.java_client import JavaClient
from harness.command_line import CommandLine, SideBySide
from harness.servers import Server
from harness.timed_records import FIRST_MS

GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"


@pytest.fixture
def beside(java: JavaClient, ottla: CommandLine) -> SideBySide:
    return SideBySide(java, ottla)


@pytest.fixture
def topic(timed_topic: Callable[..., str]) -> str:
    """Three partitions, with 20, 5 and 0 records."""
    return timed_topic(20, 5, 0)


@pytest.mark.parametrize(
    ("time", "offsets"),
    [
        ("latest", [20, 5, 0]),
        ("earliest", [0, 0, 0]),
        ("max-timestamp", [19, 4, None]),
        (str(FIRST_MS + 6000), [6, None, None]),
        ("@2023-11-14T22:13:23Z", [3, 3, None]),
        ("@-15m", [None, None, None]),
    ],
)
def test_offsets_are_found_by_place_and_time(
    ottla: CommandLine, topic: str, time: str, offsets: list[int | None]
) -> None:
    rows = json.loads(ottla("offsets", "get", topic, "--time", time, "-o", "json").out)
    assert [row["offset"] for row in rows] == offsets


def test_partitions_are_chosen_and_what_is_not_there_is_exit_code_3(ottla: CommandLine, topic: str) -> None:
    rows = json.loads(ottla("-o", "json", "offsets", "get", f"{topic}:0,2").out)
    assert [(row["partition"], row["offset"]) for row in rows] == [(0, 20), (2, 0)]
    assert ottla("offsets", "get", f"{topic}:7").code == 3
    assert ottla("offsets", "get", f"no-{topic}").code == 3
    assert ottla("offsets", "get", f"{topic}:x").code == 2
    assert ottla("offsets", "get", topic, "--time", "soon").code == 2


def test_records_are_deleted_only_when_told_to(ottla: CommandLine, topic: str) -> None:
    line = ("records", "delete", f"{topic}:0,1", "--before", "3", "-o", "json")
    plan = json.loads(ottla(*line).out)
    assert [(row["new_start_offset"], row["deleted"], row["done"]) for row in plan] == [(3, 3, False), (3, 3, False)]
    assert "0" in ottla("offsets", "get", topic, "--time", "earliest").out
    assert json.loads(ottla(*line, "--execute").out) == [{**row, "done": True} for row in plan]
    earliest = json.loads(ottla("offsets", "get", topic, "--time", "earliest", "-o", "json").out)
    assert [row["offset"] for row in earliest] == [3, 3, 0]


def test_records_beyond_the_end_cannot_be_deleted(ottla: CommandLine, topic: str) -> None:
    for how in ((), ("--execute",)):
        refused = ottla("records", "delete", f"{topic}:0,1", "--before", "6", *how, "-o", "json")
        assert (refused.code, "its records end at 5" in refused.err) == (1, True)
        assert [row["partition"] for row in json.loads(refused.out)] == [0]
    earliest = json.loads(ottla("offsets", "get", topic, "--time", "earliest", "-o", "json").out)
    assert [row["offset"] for row in earliest] == [0, 0, 0]
    assert f"{topic}-1" in refused.err
    assert ottla("records", "delete", topic, "--before", "latest", "--execute").code == 0
    earliest = json.loads(ottla("offsets", "get", topic, "--time", "earliest", "-o", "json").out)
    assert [row["offset"] for row in earliest] == [20, 5, 0]


@pytest.mark.parametrize(
    "line",
    [
        ("--topic", "{topic}"),
        ("--topic", "{topic}", "--partitions", "0,2,9"),
        ("--topic", "no-{topic}"),
        ("--topic-partitions", "{topic}:0-2"),
        ("--topic-partitions", "{topic}:1-,nothing.*"),
        ("--topic-partitions", "{topic}:-1"),
        ("--topic-partitions", "{topic}:a"),
        ("--topic", "{topic}", "--topic-partitions", "{topic}"),
        ("--topic", "["),
        ("--topic", "{topic}", "--exclude-internal-topics", "--time=earliest"),
        ("--topic", "{topic}", "--time", "-3"),
        ("--topic", "{topic}", "--time", "max-timestamp"),
        ("--topic", "{topic}", "--time", "earliest-local"),
        ("--topic", "{topic}", "--time", "latest-tiered"),
        ("--topic", "{topic}", "--time", str(FIRST_MS + 4000)),
        ("--topic", "{topic}", "--time", "noon"),
    ],
    ids=" ".join,
)
def test_get_offsets_prints_what_apaches_prints(
    beside: SideBySide, server: Server, topic: str, line: tuple[str, ...]
) -> None:
    given = [part.format(topic=topic) for part in line]
    beside("kafka-get-offsets", GET_OFFSETS, "--bootstrap-server", server.bootstrap, *given)


def test_get_offsets_takes_the_old_name_of_the_servers(ottla: CommandLine, server: Server, topic: str) -> None:
    done = ottla("kafka-get-offsets", "--broker-list", server.bootstrap, "--topic", topic)
    assert done.out == f"{topic}:0:20\n{topic}:1:5\n{topic}:2:0\n"


@pytest.mark.parametrize(
    "text",
    [
        '{"partitions":[{"topic":"TOPIC","partition":0,"offset":3},{"topic":"TOPIC","partition":1,"offset":-1}],"version":1}',
        '{"partitions":[{"topic":"TOPIC","partition":0,"offset":100}]}',
        '{"partitions":[{"topic":"TOPIC","partition":0,"offset":1},{"topic":"TOPIC","partition":0,"offset":2}]}',
        '{"partitions":[{"topic":"TOPIC"}],"version":1}',
        '{"partitions":[],"version":2}',
        "{}",
        "no json",
    ],
)
def test_delete_records_prints_what_apaches_prints(
    beside: SideBySide, server: Server, topic: str, tmp_path: Path, text: str
) -> None:
    offsets = tmp_path / "offsets.json"
    offsets.write_text(text.replace("TOPIC", topic))
    place = ("--bootstrap-server", server.bootstrap, "--offset-json-file", str(offsets))
    beside("kafka-delete-records", DELETE_RECORDS, *place)
