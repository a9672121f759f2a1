"""`ottla topics`, `ottla leaders`, `ottla configs` and `ottla cluster` against a running server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from harness.waiting import eventually
from ottla.cli.main import main


class Command:
    """Runs command lines in this process; JSON comes back as what it says."""

    def __init__(self, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self._server = server
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, Any, str]:
        self._capsys.readouterr()
        code = main(["-b", self._server.bootstrap, *arguments, "-o", "json"])
        printed = self._capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else None, printed.err

    def rows(self, *arguments: str) -> Any:
        code, rows, error = self(*arguments)
        assert (code, error) == (0, "")
        return rows


@pytest.fixture
def command(server: Server, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(server, capsys)


def test_topics_are_created_listed_and_described(
    command: Command, fresh_name: Callable[[], str], reference: ConfluentKafka
) -> None:
    first, second = fresh_name(), fresh_name()
    created = command.rows("topics", "create", first, second, "-p", "2", "-r", "1", "-c", "retention.ms=86400000")
    assert [(row["topic"], row["created"], row["partitions"], row["error"]) for row in created] == [
        (first, True, 2, None),
        (second, True, 2, None),
    ]
    eventually(lambda: command("topics", "list", first, second), lambda seen: seen[0] == 0)
    assert [row["topic_id"] for row in command.rows("topics", "list", first)] == [created[0]["topic_id"]]
    reference.produce(first, [Record(b"x" * 100)] * 5, partition=1)
    (described,) = command.rows("topics", "describe", first)
    assert (described["partition_count"], described["replication_factor"], described["internal"]) == (2, 1, False)
    assert described["configs"]["retention.ms"] == "86400000"
    offsets = [(row["partition"], row["start_offset"], row["end_offset"]) for row in described["partitions"]]
    assert offsets == [(0, 0, 0), (1, 0, 5)]
    assert described["partitions"][1]["size_bytes"] == described["size_bytes"] > 100
    assert described["partitions"][0]["in_sync"] == [described["partitions"][0]["leader"]]


def test_a_healthy_topic_is_not_listed_and_its_leaders_need_no_election(
    command: Command, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    assert command.rows("topics", "health", topic) == []
    assert command("topics", "health", topic, f"{topic}-x")[0] == 3
    elected = command.rows("leaders", "elect", topic)
    assert [(row["partition"], row["leader"] == row["new_leader"], row["done"]) for row in elected] == [
        (0, True, False),
        (1, True, False),
    ]
    assert command.rows("leaders", "elect", f"{topic}:1", "--unclean", "--execute")[0]["done"] is False
    code, rows, error = command("leaders", "elect", f"{topic}:2")
    assert (code, rows) == (3, None)
    assert f"Topic {topic} has no partition 2" in error
    assert command("leaders", "elect")[0] == command("leaders", "elect", topic, "--all")[0] == 2


def test_a_topic_that_exists_is_a_conflict_unless_that_is_expected(
    command: Command, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    code, (row,), error = command("topics", "create", topic)
    assert (code, row["created"]) == (6, False)
    assert "TOPIC_ALREADY_EXISTS" in row["error"]
    assert topic in error
    assert command.rows("topics", "create", topic, "--if-not-exists")[0]["error"] is None
    code, _, error = command("topics", "create", f"{topic}-x", "-c", "no.such.setting=1")
    assert code == 1
    assert "no.such.setting" in error


def test_an_error_of_a_creation_is_told_to_people_once(
    server: Server, capsys: pytest.CaptureFixture[str], new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    capsys.readouterr()
    assert main(["-b", server.bootstrap, "topics", "create", topic]) == 6
    printed = capsys.readouterr()
    assert (printed.out + printed.err).count("TOPIC_ALREADY_EXISTS") == 1


def test_what_is_not_there_is_not_found(command: Command, fresh_name: Callable[[], str]) -> None:
    for verb in (["describe"], ["delete"], ["delete", "--execute"], ["list"], ["alter", "-p", "2"]):
        code, rows, error = command("topics", *verb, fresh_name())
        assert (code, rows) == (3, [])
        assert "there is no such topic" in error


def test_deleting_topics_shows_them_first(
    command: Command, fresh_name: Callable[[], str], new_topic: Callable[..., str], reference: ConfluentKafka
) -> None:
    topic = new_topic(2)
    reference.produce(topic, [Record(b"x")] * 3, partition=0)
    code, rows, note = command("topics", "delete", f"{topic[:-1]}*")
    assert code == 0
    assert [(row["topic"], row["offsets"], row["deleted"]) for row in rows] == [(topic, 3, False)]
    assert "add --execute" in note
    code, rows, _ = command("topics", "delete", topic, fresh_name(), "--execute")
    assert (code, rows[0]["deleted"]) == (3, False)
    assert topic in reference.topics()
    assert command.rows("topics", "delete", topic, "--execute")[0]["deleted"]
    eventually(reference.topics, lambda topics: topic not in topics)


def test_a_dry_run_says_what_goes_with_an_internal_topic(
    command: Command, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    command.rows("groups", "reset", fresh_name(), "--topic", new_topic(), "--to", "0", "--execute")
    code, rows, note = command("topics", "delete", "__consumer_offsets")
    assert (code, rows[0]["deleted"]) == (0, False)
    assert "warning: __consumer_offsets is an internal topic; with it go the committed offsets of all groups" in note


def test_topics_grow_and_change_at_once_if_nothing_is_lost(
    command: Command, new_topic: Callable[..., str], reference: ConfluentKafka
) -> None:
    topic = new_topic(1, {"retention.ms": "1000"})
    rows = command.rows("topics", "alter", topic, "-p", "3", "-c", "retention.ms=2000", "-c", "segment.ms=60000")
    assert [(row["setting"], row["before"], row["after"], row["danger"], row["done"]) for row in rows] == [
        ("partitions", "1", "3", None, True),
        ("retention.ms", "1000", "2000", None, True),
        ("segment.ms", "604800000", "60000", None, True),
    ]
    eventually(reference.topics, lambda topics: topics.get(topic) == 3)
    code, _, error = command("topics", "alter", topic, "-p", "2")
    assert code == 6
    assert "cannot be lowered to 2" in error


def test_settings_that_remove_records_need_to_be_confirmed(command: Command, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1, {"retention.ms": "2000"})

    def retention() -> str:
        rows = command.rows("configs", "describe", "topics", topic)
        return next(row["value"] for row in rows if row["setting"] == "retention.ms")

    code, (row,), note = command("configs", "alter", "topics", topic, "--set", "retention.ms=1000")
    assert (code, row["before"], row["after"], row["done"]) == (0, "2000", "1000", False)
    assert row["danger"]
    assert "add --execute" in note
    assert retention() == "2000"
    code, _, note = command("topics", "alter", topic, "-c", "retention.ms=1000")
    assert (code, retention()) == (0, "2000")
    assert "add --execute" in note
    assert command.rows("configs", "alter", "topics", topic, "--set", "retention.ms=1000", "--execute")[0]["done"]
    eventually(retention, lambda value: value == "1000")


def test_lists_grow_and_settings_return_to_what_is_inherited(command: Command, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1, {"max.message.bytes": "1000"})
    change = ("--append", "cleanup.policy=compact", "--delete", "max.message.bytes", "--execute")
    rows = command.rows("configs", "alter", "topics", topic, *change)
    assert {row["setting"]: (row["before"], row["after"]) for row in rows} == {
        "cleanup.policy": ("delete", "delete,compact"),
        "max.message.bytes": ("1000", "1048588"),
    }

    def own() -> dict[str, tuple[str, str]]:
        found = command.rows("configs", "describe", "topics", topic)
        return {row["setting"]: (row["value"], row["source"]) for row in found}

    eventually(own, lambda seen: seen == {"cleanup.policy": ("delete,compact", "topic")})
    everything = command.rows("configs", "describe", "topics", topic, "--all", "--synonyms")
    bytes_max = next(row for row in everything if row["setting"] == "max.message.bytes")
    assert bytes_max["synonyms"] == ["default:message.max.bytes=1048588"]


def test_a_change_that_the_broker_refuses_changes_nothing(command: Command, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    code, rows, error = command("configs", "alter", "topics", topic, "--set", "segment.ms=soon", "--set", "flush.ms=9")
    assert (code, [row["done"] for row in rows]) == (1, [False, False])
    assert "INVALID_CONFIG" in error
    assert "segment.ms" in error
    assert command.rows("configs", "describe", "topics", topic) == []


def test_brokers_have_settings_of_their_own_and_together(command: Command, reference: ConfluentKafka) -> None:
    name, node = "log.cleaner.backoff.ms", str(next(iter(reference.brokers())))

    def value(broker: str) -> str | None:
        rows = command.rows("configs", "describe", "brokers", broker)
        return next((row["value"] for row in rows if row["setting"] == name), None)

    assert command.rows("configs", "alter", "brokers", "default", "--set", f"{name}=18000")[0]["name"] == "default"
    try:
        eventually(lambda: value("default"), lambda seen: seen == "18000")
        assert value(node) is None
    finally:
        command.rows("configs", "alter", "brokers", "default", "--delete", name)
    eventually(lambda: value("default"), lambda seen: seen is None)
    code, _, error = command("configs", "describe", "brokers", "4711")
    assert code == 3
    assert "there is no such broker" in error
    loggers = command.rows("configs", "describe", "broker-loggers", node)
    assert {row["source"] for row in loggers} == {"dynamic_broker_logger"}


def test_brokers_without_settings_of_their_own_point_to_those_they_have(
    server: Server, reference: ConfluentKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    node = str(next(iter(reference.brokers())))
    assert main(["-b", server.bootstrap, "configs", "describe", "brokers", node]) == 0
    assert "--all shows what they were started with (server.properties" in capsys.readouterr().err
    assert main(["-b", server.bootstrap, "configs", "describe", "brokers", node, "--all"]) == 0
    printed = capsys.readouterr()
    assert {"static_broker", "default"} <= set(printed.out.split())
    assert printed.err == ""


@pytest.mark.parametrize("of_all", [True, False])
def test_a_setting_that_brokers_do_not_have_is_refused_unless_a_plugin_is_meant(
    command: Command, reference: ConfluentKafka, of_all: bool
) -> None:
    broker = "default" if of_all else str(next(iter(reference.brokers())))
    slip = "log.clener.backoff.ms"
    alter = ("configs", "alter", "brokers", broker)

    def settings() -> set[str]:
        return {row["setting"] for row in command.rows("configs", "describe", "brokers", broker)}

    for _ in range(2):
        code, (row,), error = command(*alter, "--set", f"{slip}=1000")
        assert (code, row["done"]) == (1, False)
        assert f"{broker}: brokers have no setting {slip}. Did you mean log.cleaner.backoff.ms?" in error
        # Once it is there, it is still none.
        assert command.rows(*alter, "--set", f"{slip}=1000", "--force")[0]["done"]
        eventually(settings, lambda seen: slip in seen)
    assert command.rows(*alter, "--delete", slip)[0]["done"]
    eventually(settings, lambda seen: slip not in seen)
    assert command(*alter, "--delete", slip)[0] == 1


def test_a_group_comes_into_being_with_its_first_setting(command: Command, fresh_name: Callable[[], str]) -> None:
    group = fresh_name()
    setting = "consumer.session.timeout.ms"
    assert command("configs", "describe", "groups", group)[0] == 3
    assert command.rows("configs", "alter", "groups", group, "--set", f"{setting}=50000")[0]["done"]
    eventually(lambda: command("configs", "describe", "groups", group), lambda seen: seen[0] == 0)
    assert command.rows("configs", "alter", "groups", group, "--delete", setting)[0]["after"] == "45000"


def test_the_cluster_is_described(command: Command, server: Server, reference: ConfluentKafka) -> None:
    node = next(iter(reference.brokers()))
    described = command.rows("cluster", "describe")
    assert described["controller"] == described["quorum"]["leader"] == node
    (broker,) = described["brokers"]
    assert f"{broker['host']}:{broker['port']}" == server.bootstrap
    assert [replica["status"] for replica in described["quorum"]["replicas"]] == ["leader"]
    releases = {row["feature"]: row["release"] for row in described["features"]}
    assert releases["metadata.version"] == "4.3-IV0"
    (directory,) = described["log_dirs"]
    assert str(server.data) in directory["path"]
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    assert directory["cordoned"] is False


def test_the_command_is_a_program_for_shells(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"OTTLA_BOOTSTRAP_SERVERS": server.bootstrap}
        command = [sys.executable, "-m", "ottla", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)

    listed = run("topics", "list")
    assert listed.returncode == 0
    assert listed.stdout.splitlines()[0].split() == [
        "TOPIC",
        "PARTITIONS",
        "REPLICATION-FACTOR",
        "INTERNAL",
        "TOPIC-ID",
    ]
    assert topic in listed.stdout
    described = run("topics", "describe", topic)
    assert described.stdout.splitlines()[0].split() == ["topic", topic]
    cluster = run("cluster", "describe")
    assert cluster.returncode == 0
    assert "LOG DIRS" in cluster.stdout
    missing = run("topics", "describe", f"{topic}-x")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "Traceback" not in missing.stderr
