"""`ottla groups` and `ottla kafka-consumer-groups`, the latter beside Apache's own tool."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.java_client import JavaClient
from harness.command_line import CommandLine, SideBySide
from harness.servers import Server
from harness.timed_records import FIRST_MS
from harness.waiting import eventually

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def same(java: JavaClient, ottla: CommandLine, server: Server) -> Callable[..., str]:
    """Runs a line of kafka-consumer-groups with both tools; what ours printed."""
    beside = SideBySide(java, ottla)

    def run(*arguments: str) -> str:
        return beside("kafka-consumer-groups", CONSUMER_GROUPS, "--bootstrap-server", server.bootstrap, *arguments).out

    return run


@pytest.fixture
def topic(timed_topic: Callable[..., str]) -> str:
    """Two partitions, with 20 and 5 records."""
    return timed_topic(20, 5)


@pytest.fixture
def group(ottla: CommandLine, topic: str, fresh_name: Callable[[], str]) -> str:
    """A group without members that stands at 10 and 5."""
    name = fresh_name()
    assert ottla("groups", "reset", name, "--topic", topic, "--to", "10", "--execute").code == 0
    return name


def committed(reference: ConfluentKafka, group: str, topic: str) -> list[int | None]:
    return [reference.committed(group, topic, partition) for partition in (0, 1)]


def test_a_listed_group_has_state_and_type(ottla: CommandLine, group: str) -> None:
    listed = json.loads(ottla("groups", "list", "-o", "json").out)
    [row] = [row for row in listed if row["group"] == group]
    assert (row["state"], row["type"]) == ("Empty", "classic")
    assert group not in ottla("groups", "list", "--state", "stable").out
    assert group in ottla("groups", "list", "--type", "classic").out


def test_a_described_group_shows_its_lag(ottla: CommandLine, group: str, topic: str) -> None:
    [described] = json.loads(ottla("groups", "describe", group, "-o", "json").out)
    assert described["lag"] == 10
    assert [(row["current_offset"], row["log_end_offset"], row["lag"]) for row in described["partitions"]] == [
        (10, 20, 10),
        (5, 5, 0),
    ]
    table = ottla("groups", "describe", group).out
    assert [topic, "0", "10", "20", "20", "10", "-", "-", "-"] in [line.split() for line in table.splitlines()]


def test_groups_are_described_by_several_names_by_patterns_and_all_together(
    ottla: CommandLine, topic: str, fresh_name: Callable[[], str]
) -> None:
    prefix = fresh_name()
    names = [f"{prefix}-{end}" for end in ("a", "b", "c")]
    for name in names:
        assert ottla("groups", "reset", name, "--topic", topic, "--to", "10", "--execute").code == 0

    def described(*words: str) -> list[str]:
        return [row["group"] for row in json.loads(ottla("groups", "describe", *words, "-o", "json").out)]

    assert described(names[2], names[0]) == [names[2], names[0]]
    assert described(f"{prefix}-[ab]") == names[:2]
    assert described(names[1], f"{prefix}-*") == [names[1], names[0], names[2]]
    assert set(names) <= set(described("--all"))
    nothing = ottla("groups", "describe", f"{prefix}-z*")
    assert (nothing.code, f"{prefix}-z*: no group matches" in nothing.err) == (3, True)
    assert ottla("groups", "describe", f"{prefix}-a").out.startswith("group ")


def test_all_groups_or_some_are_described_and_not_both(ottla: CommandLine) -> None:
    assert ottla("groups", "describe").code == 2
    assert ottla("groups", "describe", "billing", "--all").code == 2


def test_a_group_that_is_not_there_is_exit_code_3(ottla: CommandLine, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    assert ottla("groups", "describe", name).code == 3
    assert name in ottla("groups", "delete", name, "--execute").err


def test_a_mistyped_group_is_not_reset_but_a_new_one_may_get_offsets(
    ottla: CommandLine, topic: str, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    refused = ottla("groups", "reset", name, "--all-topics", "--to", "earliest", "--execute")
    assert (refused.code, f"{name}: no such group" in refused.err) == (3, True)
    line = ("groups", "reset", name, "--topic", topic, "--to", "10", "-o", "json", "--execute")
    notes = [row["note"] for row in json.loads(ottla(*line).out)]
    assert (notes[0], notes[1].startswith("new group. New offset (10) is higher")) == ("new group", True)
    assert [row["note"] is None for row in json.loads(ottla(*line).out)] == [True, False]


@pytest.mark.parametrize(
    ("to", "offsets"),
    [
        ("earliest", [0, 0]),
        ("latest", [20, 5]),
        ("current", [10, 5]),
        ("7", [7, 5]),
        ("+3", [13, 5]),
        ("-4", [6, 1]),
        (f"@{FIRST_MS + 3000}", [3, 3]),
        ("@2023-11-14T22:13:23Z", [3, 3]),
        ("@-1m", [20, 5]),
        ("-1m", [20, 5]),
    ],
)
def test_a_reset_shows_its_plan_then_does_it(
    ottla: CommandLine, reference: ConfluentKafka, group: str, topic: str, to: str, offsets: list[int]
) -> None:
    line = ("groups", "reset", group, "--all-topics", "--to", to, "-o", "json")
    plan = json.loads(ottla(*line).out)
    assert [row["new_offset"] for row in plan] == offsets
    assert [row["skipped"] - row["replayed"] for row in plan] == [offsets[0] - 10, offsets[1] - 5]
    assert committed(reference, group, topic) == [10, 5]
    assert json.loads(ottla(*line, "--execute").out) == plan
    assert committed(reference, group, topic) == offsets


def test_an_exported_file_undoes_a_reset(
    ottla: CommandLine, reference: ConfluentKafka, group: str, topic: str, tmp_path: Path
) -> None:
    undo = tmp_path / "undo.csv"
    ottla("groups", "delete", group, "--topic", f"{topic}:1", "--execute")
    ottla("groups", "reset", group, "--topic", topic, "--to", "earliest", "--export", str(undo), "--execute")
    assert committed(reference, group, topic) == [0, 0]
    assert list(csv.reader(undo.read_text().splitlines())) == [[group, topic, "0", "10"], [group, topic, "1", "-1"]]
    assert ottla("groups", "reset", group, "--from-file", str(undo), "--execute").code == 0
    assert committed(reference, group, topic) == [10, None]


def test_a_group_with_members_is_neither_reset_nor_deleted(
    ottla: CommandLine, java: JavaClient, topic: str, same: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    member = java.member(topic, group)
    try:
        eventually(member.assignment)
        for how in ((), ("--execute",)):
            refused = ottla("groups", "reset", group, "--topic", topic, "--to", "earliest", *how)
            assert (refused.code, "Stop its consumers" in refused.err) == (6, True)
            assert ottla("groups", "delete", group, *how).code == 6
        [described] = json.loads(ottla("groups", "describe", group, "-o", "json").out)
        assert described["members"][0]["partitions"] == [f"{topic}:0", f"{topic}:1"]
        for what in (
            (),
            ("--verbose",),
            ("--members",),
            ("--members", "--verbose"),
            ("--state",),
            ("--state", "--verbose"),
        ):
            assert group in same("--describe", "--group", group, *what)
        same("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
        same("--delete", "--group", group)
        same("--delete-offsets", "--group", group, "--topic", topic)
    finally:
        member.close()


def test_offsets_then_the_group_are_deleted(
    ottla: CommandLine, reference: ConfluentKafka, group: str, topic: str
) -> None:
    line = ("groups", "delete", group, "--topic", f"{topic}:0")
    assert [topic, "0", "10"] in [row.split()[1:] for row in ottla(*line).out.splitlines()]
    assert committed(reference, group, topic) == [10, 5]
    ottla(*line, "--execute")
    assert committed(reference, group, topic) == [None, 5]
    assert ottla("groups", "delete", group).code == 0
    assert ottla("groups", "describe", group).code == 0
    assert ottla("groups", "delete", group, "--execute").code == 0
    assert ottla("groups", "describe", group).code == 3


def test_groups_are_deleted_together_or_not_at_all(
    ottla: CommandLine, reference: ConfluentKafka, group: str, topic: str, fresh_name: Callable[[], str]
) -> None:
    for what in ((group, fresh_name()), (group, "--topic", topic, "--topic", f"no-{topic}")):
        refused = ottla("groups", "delete", *what, "--execute")
        assert (refused.code, "Nothing was changed" in refused.err) == (3, True)
        assert committed(reference, group, topic) == [10, 5]


def test_the_tools_list_and_describe_alike(same: Callable[..., str], group: str) -> None:
    for what in ((), ("--state",), ("--type",), ("--state", "--type"), ("--state", "empty"), ("--type", "classic")):
        assert group in same("--list", *what)
    for what in ((), ("--verbose",), ("--offsets",), ("--state",)):
        assert group in same("--describe", "--group", group, *what)
    same("--describe", "--group", group, "--members")
    same("--describe", "--group", group, "--members", "--verbose")
    same("--describe", "--group", f"no-{group}")
    same("--list", "--state", "bogus")


@pytest.mark.parametrize(
    "where",
    [
        ("--to-earliest",),
        ("--to-latest",),
        ("--to-current",),
        ("--to-offset", "7"),
        ("--to-offset", "700"),
        ("--shift-by", "-3"),
        ("--shift-by=2",),
        ("--to-datetime", "2023-11-14T22:13:25.000"),
        ("--to-datetime", "2023-11-14T23:13:25.000+01:00"),
        ("--to-datetime", "tomorrow"),
        ("--by-duration", "P3000DT1H"),
        ("--by-duration", "PT0S"),
    ],
    ids=" ".join,
)
def test_the_tools_plan_resets_alike(same: Callable[..., str], group: str, topic: str, where: tuple[str, ...]) -> None:
    change = ("--reset-offsets", "--group", group, "--topic", topic, *where)
    same(*change, "--dry-run")
    same(*change, "--dry-run", "--export")


def test_a_reset_with_apaches_flags_acts_at_once(
    same: Callable[..., str],
    ottla: CommandLine,
    reference: ConfluentKafka,
    server: Server,
    group: str,
    topic: str,
    tmp_path: Path,
) -> None:
    change = ("--reset-offsets", "--group", group)
    exported = same(*change, "--all-topics", "--to-earliest", "--export", "--dry-run")
    plan = tmp_path / "plan.csv"
    plan.write_text(exported)
    same(*change, "--from-file", str(plan), "--dry-run")
    same(*change, "--topic", f"{topic}:1", "--to-earliest")
    same(*change, "--topic", f"{topic}:9", "--to-earliest", "--dry-run")
    same(*change, "--topic", f"{topic}:x", "--to-earliest", "--dry-run")
    same("--reset-offsets", "--group", f"new-{group}", "--topic", topic, "--shift-by", "1", "--dry-run")
    assert committed(reference, group, topic) == [10, 5]
    tool = ("kafka-consumer-groups", "--bootstrap-server", server.bootstrap)
    assert ottla(*tool, *change, "--from-file", str(plan), "--execute").code == 0
    assert committed(reference, group, topic) == [0, 0]


def test_the_tools_refuse_the_same_lines(same: Callable[..., str], group: str, topic: str) -> None:
    for line in (
        (),
        ("--describe",),
        ("--list", "--group", group),
        ("--describe", "--group", group, "--members", "--state"),
        ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--to-latest", "--dry-run"),
        ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute", "--dry-run"),
        ("--delete", "--group", group, "--topic", topic),
        ("--delete-offsets", "--group", group),
        ("--validate-regex", "a(b"),
    ):
        same(*line)


def test_deletions_are_told_alike(
    same: Callable[..., str], ottla: CommandLine, server: Server, group: str, topic: str
) -> None:
    same("--delete-offsets", "--group", group, "--topic", f"{topic}:0")
    same("--delete-offsets", "--group", group, "--topic", f"no-{topic}")
    same("--delete-offsets", "--group", f"no-{group}", "--topic", topic)
    same("--delete", "--group", f"no-{group}")
    done = ottla("kafka-consumer-groups", "--bootstrap-server", server.bootstrap, "--delete", "--group", group)
    assert done.out == f"Deletion of requested consumer groups ('{group}') was successful.\n"


def test_the_executable_lists_groups(server: Server, group: str) -> None:
    command = [sys.executable, "-m", "ottla", "groups", "list", "-b", server.bootstrap, "-o", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert group in {json.loads(line)["group"] for line in done.stdout.splitlines()}
