import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.cli.main import main
from ottla.cli.server.command import UsageError, properties


def options(
    file: Path | None = None, data: str | None = None, listen: str | None = None, override: tuple[str, ...] = ()
) -> Namespace:
    return Namespace(properties=None if file is None else str(file), data=data, listen=listen, override=list(override))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(
        "process.roles=broker,controller\nnode.id=7\ncontroller.listener.names=CONTROLLER\n"
        "controller.quorum.voters=7@localhost:9093\n"
        "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\nlog.dirs=/from/the/file\n"
    )
    return path


def test_without_a_file_the_node_is_a_cluster_by_itself() -> None:
    given = properties(options())
    assert given["listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert given["log.dirs"] == str(Path("ottla-data").absolute())
    assert given["offsets.topic.replication.factor"] == "1"


def test_with_a_file_kafkas_defaults_hold(file: Path) -> None:
    given = properties(options(file))
    assert given["node.id"] == "7"
    assert "offsets.topic.replication.factor" not in given


def test_switches_beat_the_file_and_overrides_beat_both(file: Path) -> None:
    given = properties(
        options(file, data="/data", listen="127.0.0.1:1", override=("log.dirs=/other", "a.b = c=d ", "node.id=8"))
    )
    assert given["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://localhost:9093"
    assert given["log.dirs"] == "/other"
    assert given["a.b"] == "c=d"
    assert given["node.id"] == "8"


@pytest.mark.parametrize("override", ["x", "=x", ""])
def test_an_override_needs_a_key_and_a_value(override: str) -> None:
    with pytest.raises(UsageError, match="write KEY=VALUE"):
        properties(options(override=(override,)))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--override", "x"], 2, "write KEY=VALUE"),
        (["--override", "num.partitions=none"], 1, "Invalid value none for configuration num.partitions"),
        (["--listen", "here"], 2, "--listen here: write HOST:PORT"),
        (
            ["--listen", "127.0.0.1:99999"],
            2,
            "--listen 127.0.0.1:99999: port 99999 is too large: ports go from 0 to 65535",
        ),
        (["/no/such/server.properties", "--listen", "here"], 2, "write HOST:PORT"),
        (["--metrics", "here"], 2, "--metrics here: write HOST:PORT"),
        (
            ["--metrics", "127.0.0.1:99999"],
            2,
            "--metrics 127.0.0.1:99999: port 99999 is too large: ports go from 0 to 65535",
        ),
        (["--metrics", "::1:9308"], 2, "write HOST:PORT"),
        (["--metrics", "127.0.0.1:"], 2, "write HOST:PORT"),
        (["/no/such/server.properties"], 1, "Cannot read /no/such/server.properties"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", *arguments]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("ottla server: ")
    assert error.count("\n") == 1


class Running:
    """A node in its own process, from the line that says it serves."""

    def __init__(self, process: "subprocess.Popen[str]", announced: dict[str, str]) -> None:
        self.process = process
        self.announced = announced

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "ottla.cli.main", "server", "--data", str(data), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield Running(process, _announced(process))
    finally:
        process.kill()
        process.communicate()


def _announced(process: "subprocess.Popen[str]") -> dict[str, str]:
    lines: queue.Queue[str] = queue.Queue()
    stdout = process.stdout
    assert stdout is not None

    def read() -> None:
        for line in stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    announced: dict[str, str] = {}
    while not (line := lines.get(timeout=60)).startswith("Press Ctrl-C"):
        assert line, f"the node ended: {process.stderr and process.stderr.read()}"
        if line.startswith("  "):
            name, _, value = line.strip().partition("  ")
            announced[name] = value.strip()
    return announced


def test_a_node_says_where_its_controller_is(tmp_path: Path) -> None:
    listeners = "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    with running(tmp_path, "--override", listeners) as node:
        for name, kind in (("PLAINTEXT", "bootstrap"), ("CONTROLLER", "controller")):
            address, shown = node.announced[kind].split(maxsplit=1)
            assert shown == f"(listener {name})"
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=30).close()


def test_a_node_says_where_it_is_stops_cleanly_and_finds_its_data_again(tmp_path: Path) -> None:
    with running(tmp_path, "--listen", "127.0.0.1:0") as first:
        address = first.announced["bootstrap"].split()[0]
        assert first.announced["data"] == str(tmp_path)
        assert first.announced["node id"] == "1"
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=30).close()
        busy = subprocess.run(
            [sys.executable, "-m", "ottla.cli.main", "server", "--data", str(tmp_path / "b"), "--listen", address],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert busy.returncode == 1
        assert port in busy.stderr
        assert "Traceback" not in busy.stderr
        assert first.stop(signal.SIGINT) == os.EX_OK
    with running(tmp_path, "--listen", "127.0.0.1:0") as second:
        assert second.announced["cluster id"] == first.announced["cluster id"]
        assert second.stop(signal.SIGTERM) == os.EX_OK


def test_a_node_says_where_its_metrics_are_and_that_their_port_is_taken(tmp_path: Path) -> None:
    with running(tmp_path / "a", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0") as node:
        url = node.announced["metrics"]
        assert "kafka_brokers 1\n" in urllib.request.urlopen(url, timeout=30).read().decode()
        address = url.removeprefix("http://").removesuffix("/metrics")
        arguments = ["--data", str(tmp_path / "b"), "--listen", "127.0.0.1:0", "--metrics", address]
        busy = subprocess.run(
            [sys.executable, "-m", "ottla.cli.main", "server", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert busy.returncode == 1
        assert f"--metrics {address}: the port is in use" in busy.stderr
        assert "Traceback" not in busy.stderr
        assert not (tmp_path / "b").exists()
        assert node.stop(signal.SIGTERM) == os.EX_OK


def test_the_data_of_a_single_node_are_not_hidden_behind_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert main(["server", "--data", str(tmp_path), "--brokers", "2"]) != 0
    assert "holds the data of a single node" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["meta.properties"]


def test_one_of_several_controllers_is_formatted_with_all_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:9093,kafka-2:9093\nlog.dirs={tmp_path / 'data'}\n"
    )
    assert main(["storage", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file)]) != 0
    assert "--initial-controllers" in capsys.readouterr().err
    assert not (tmp_path / "data" / "meta.properties").exists()
    assert main(["server", str(file)]) != 0
    assert "--initial-controllers ID@HOST:PORT:DIRECTORY-ID" in capsys.readouterr().err
