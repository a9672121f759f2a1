"""`ottla storage`, `ottla kafka-storage` beside Apache's own, and servers that are started and stopped by name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.clients.java_client import JavaClient, Printed
from harness.command_line import CommandLine, SideBySide
from harness.java import java as java_command
from harness.ports import free_port
from harness.waiting import eventually

STORAGE = "kafka.tools.StorageTool"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
CLUSTER_ID = "dGVzdC1jbHVzdGVyLTAwMQ"


@pytest.fixture
def ottla(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def properties(tmp_path: Path) -> Callable[..., Path]:
    """Writes a server.properties with directories of its own below a name."""

    def write(name: str, directories: int = 1, **settings: str) -> Path:
        port = free_port()
        dirs = ",".join(str(tmp_path / name / f"disk{number}") for number in range(directories))
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{free_port()}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": dirs,
        } | {name.replace("_", "."): value for name, value in settings.items()}
        path = tmp_path / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return path

    return write


def told(printed: Printed) -> list[str]:
    """The lines without what is random (their order too), and without levels of features that are not served yet."""
    text = re.sub(r"directory\.id=[\w-]{22}", "directory.id=?", printed.out).replace("/theirs/", "/ours/")
    return sorted(line for line in text.splitlines() if not line.startswith("Bootstrap metadata: "))


def test_storage_is_formatted_and_described_alike(
    java: JavaClient, ottla: CommandLine, properties: Callable[..., Path]
) -> None:
    voters = {"controller_quorum_voters": "1@127.0.0.1:9093"}
    theirs, ours = properties("theirs", 2, **voters), properties("ours", 2, **voters)
    for command in (
        ("info",),
        ("format", "-t", CLUSTER_ID),
        ("info",),
        ("format", "-t", CLUSTER_ID),
        ("format", "--cluster-id", CLUSTER_ID, "--ignore-formatted"),
        ("format", "-t", "another", "-g"),
        ("format", "-t", CLUSTER_ID, "-g", "--standalone"),
    ):
        expected = java.tool(STORAGE, *command, "-c", str(theirs))
        found = ottla("kafka-storage", *command, "-c", str(ours))
        assert (found.code, told(found)) == (expected.code, told(expected)), (command, found, expected)


@pytest.mark.parametrize(
    "quorum", [("--standalone",), ("--initial-controllers", "1@127.0.0.1:9093:JEXY6aqzQY-32P5TStzaFg")]
)
def test_a_quorum_that_may_change_is_formatted_alike(
    java: JavaClient, ottla: CommandLine, properties: Callable[..., Path], tmp_path: Path, quorum: tuple[str, ...]
) -> None:
    servers = {"controller_quorum_bootstrap_servers": "127.0.0.1:9093"}
    theirs, ours = properties("theirs", **servers), properties("ours", **servers)
    command = ("format", "-t", CLUSTER_ID, *quorum, "-c")
    expected = java.tool(STORAGE, *command, str(theirs))
    found = ottla("kafka-storage", *command, str(ours))
    assert (found.code, told(found)) == (expected.code, told(expected))
    name = "disk0/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    voters = []
    for side in ("theirs", "ours"):
        dumped = java.tool(DUMP_LOG, "--cluster-metadata-decoder", "--files", str(tmp_path / side / name))
        voters.append(re.findall(r'"voterId":1|"kRaftVersion":1', dumped.out))
    assert voters[0] == voters[1] != []


@pytest.mark.parametrize(
    "command",
    [
        ("version-mapping",),
        ("version-mapping", "-r", "3.5-IV0"),
        ("version-mapping", "--release-version", "4.0"),
        ("feature-dependencies", "--feature", "eligible.leader.replicas.version=1", "-f", "metadata.version=20"),
        ("feature-dependencies", "--feature", "bogus=1"),
        ("info",),
        ("bogus",),
        (),
    ],
    ids=" ".join,
)
def test_what_needs_no_directories_is_told_alike(
    java: JavaClient, ottla: CommandLine, command: tuple[str, ...]
) -> None:
    SideBySide(java, ottla)("kafka-storage", STORAGE, *command)


def test_a_random_id_is_16_bytes_and_another_each_time(ottla: CommandLine) -> None:
    ids = {ottla(tool, "random-uuid").out for tool in ("storage", "kafka-storage") for _ in range(3)}
    assert len(ids) == 6
    assert all(re.fullmatch(r"[\w-]{22}\n", text) for text in ids)
    assert re.fullmatch(r"[\w-]{22}", json.loads(ottla("storage", "random-uuid", "-o", "json").out)["uuid"])


def test_what_the_release_cannot_serve_is_not_formatted(ottla: CommandLine, properties: Callable[..., Path]) -> None:
    config = str(properties("ours"))
    for wrong in (
        ("--feature", "group.version=1"),
        ("--feature", "bogus=1"),
        ("-r", "9.9"),
        ("--add-scram", "SCRAM-SHA-256=[name=a,password=b]"),
        ("--initial-controllers", "nonsense"),
    ):
        refused = ottla("kafka-storage", "format", "-t", CLUSTER_ID, "-c", config, *wrong)
        assert (refused.code, refused.out) == (1, ""), wrong
        assert refused.err
    assert ottla("kafka-storage", "info", "-c", config).code == 1


def test_storage_is_formatted_for_the_cluster_that_it_belongs_to(
    ottla: CommandLine, properties: Callable[..., Path], tmp_path: Path
) -> None:
    config = str(properties("ours"))
    assert ottla("storage", "info", "-c", config).code == 1
    [row] = json.loads(ottla("storage", "format", "-t", CLUSTER_ID, "-c", config, "-o", "json").out)
    assert (row["cluster_id"], row["node_id"], row["problem"]) == (CLUSTER_ID, 1, None)
    again = ottla("storage", "format", "-c", config)
    assert (again.code, "--ignore-formatted" in again.err) == (6, True)
    # A disk that is added joins the cluster of the others.
    grown = tmp_path / "grown.properties"
    grown.write_text(Path(config).read_text().replace("disk0", f"disk0,{tmp_path}/more"))
    rows = json.loads(ottla("storage", "format", "-g", "-c", str(grown), "-o", "json").out)
    assert [row["cluster_id"] for row in rows] == [CLUSTER_ID, CLUSTER_ID]
    assert ottla("storage", "info", "-c", str(grown)).code == 0
    assert ottla("storage", "info", "-c", "/no/such/file").code == 1


@pytest.fixture
def node_id() -> str:
    """An id that no other server on this machine has, so that a test stops only its own."""
    return str(1_000_000 + os.getpid())


@pytest.fixture
def program(tmp_path: Path, node_id: str) -> Iterator[Callable[..., Printed]]:
    """`ottla` as a process of its own, in a directory of its own; what it left running is stopped."""

    def run(*arguments: str) -> Printed:
        command = [sys.executable, "-m", "ottla", *arguments]
        environment = os.environ | {"LOG_DIR": str(tmp_path / "logs")}
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60, check=False
        )
        return Printed(done.returncode, done.stdout, done.stderr)

    yield run
    run("kafka-server-stop", "--node-id", node_id)


def test_a_daemon_is_started_and_stopped(
    program: Callable[..., Printed], properties: Callable[..., Path], tmp_path: Path, node_id: str
) -> None:
    config = properties("ours")
    overrides = ("--override", f"node.id={node_id}")
    assert program("kafka-server-stop", f"--node-id={node_id}") == Printed(1, "No kafka server to stop\n", "")
    assert program("kafka-server-start", "-daemon", str(config), *overrides).code == 0
    output = tmp_path / "logs" / "kafkaServer.out"
    eventually(lambda: "is running" in output.read_text(), timeout_s=30)
    listener = config.read_text().partition("PLAINTEXT://")[2].partition(",")[0]
    assert program("kafka-topics", "--bootstrap-server", listener, "--list").code == 0
    assert program("kafka-server-stop", "--node-id", node_id, "--process-role=broker") == Printed(0, "", "")
    eventually(lambda: program("kafka-server-stop", "--node-id", node_id).code == 1, timeout_s=30)


def test_apaches_tool_knows_storage_that_ottla_formatted(ottla: CommandLine, properties: Callable[..., Path]) -> None:
    config = properties("ours", controller_quorum_bootstrap_servers="127.0.0.1:9093")
    assert ottla("kafka-storage", "format", "-t", CLUSTER_ID, "--standalone", "-c", str(config)).code == 0
    told_by_kafka = subprocess.run(
        java_command(STORAGE, "info", "-c", str(config)), capture_output=True, text=True, check=True, timeout=60
    )
    assert f"cluster.id={CLUSTER_ID}" in told_by_kafka.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "USAGE"),
        (("no.such.properties",), "no.such.properties"),
        (("-daemon", "no.such.properties"), "no.such.properties"),
    ],
)
def test_a_server_that_cannot_start_says_why(ottla: CommandLine, arguments: tuple[str, ...], told: str) -> None:
    refused = ottla("kafka-server-start", *arguments)
    assert refused.code == 1
    assert told in refused.err


def test_classes_of_the_texts_run_their_tools(ottla: CommandLine, tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(b"")
    for name in ("kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments"):
        assert "Log starting offset: 0" in ottla("kafka-run-class", name, "--files", str(segment)).out
    unknown = ottla("kafka-run-class", "kafka.tools.Nothing")
    assert (unknown.code, "Could not find or load main class" in unknown.err) == (1, True)
    assert ottla("kafka-run-class").code == 1
