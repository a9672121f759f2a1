"""What `make run` says and shows, of a node and of a cluster, and that it leaves nothing behind."""

import re
import signal
import socket
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from harness.ports import free_port, free_ports_in_a_row
from ottla.cli.cluster.local.cluster_directory import CONTROLLER_PORT_DISTANCE

TOOLS = Path(__file__).resolve().parents[2] / "tools"
RUN_NODE = TOOLS / "run_node.py"
RUN_CLUSTER = TOOLS / "run_cluster.py"


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("here", "--listen here: write HOST:PORT"),
        ("127.0.0.1:99999", "--listen 127.0.0.1:99999: port 99999 is too large: ports go from 1 to 65535."),
        ("no-such-host.invalid:9092", "--listen no-such-host.invalid:9092: the host is not known"),
    ],
)
def test_an_address_that_cannot_be_served_is_named(listen: str, message: str, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN_NODE), "--listen", listen, "--data", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def run_node(data: Path, port: int, registry: str) -> list[str]:
    listen = f"127.0.0.1:{port}"
    return [sys.executable, str(RUN_NODE), "--listen", listen, "--data", str(data), "--registry", registry]


def test_a_node_and_a_registry_are_shown_working_and_stopped_by_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without Java there is no pipeline, which has tests of its own.
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    ports = free_port(), free_port()
    command = run_node(tmp_path / "data", ports[0], f"127.0.0.1:{ports[1]}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        shown = ""
        for line in running.stdout:
            shown += line
            if line.startswith("The node stays up"):
                break
        assert all(_is_served(port) for port in ports)
        running.send_signal(signal.SIGINT)
        shown += running.stdout.read()
        assert running.wait() == 0, shown
    assert "registered  demo-payments-value version 1, id 1" in shown
    assert "consumed    {'payer': 'ada', 'cents': 1250}" in shown
    assert "refused     a new field without a default: 40901" in shown
    assert not any(_is_served(port) for port in ports)
    log = (tmp_path / "data-registry.log").read_text(encoding="utf-8")
    assert "Traceback" not in log


@pytest.mark.parametrize("is_taken", [True, False], ids=["taken", "no address"])
def test_a_node_goes_on_without_a_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_taken: bool) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        registry = f"127.0.0.1:{taken.getsockname()[1]}" if is_taken else "here"
        command = run_node(tmp_path / "data", free_port(), registry)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            shown = "".join(takewhile(lambda line: not line.startswith("The node stays up"), running.stdout))
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
            assert running.returncode == 0
    assert "No schema registry is started" in errors
    assert "consumed  hello" in shown


def test_no_node_is_left_behind_by_who_has_read_enough(tmp_path: Path) -> None:
    port = free_port()
    command = run_node(tmp_path / "data", port, f"127.0.0.1:{free_port()}")
    # It may notice by itself, or by the example that it shows, which then says so.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "Ottla is running.\n"
        running.stdout.close()
        assert running.wait(timeout=60) == 1
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_cluster_too_small_to_lose_a_node_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN_CLUSTER), "--nodes", "2", "--data", str(tmp_path / "cluster")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "at least 3 nodes" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
def test_a_cluster_loses_its_leader_but_no_record_and_is_stopped_by_ctrl_c(tmp_path: Path) -> None:
    ports = free_ports_in_a_row(3, also_at=CONTROLLER_PORT_DISTANCE)
    listen = f"127.0.0.1:{ports[0]}"
    command = [sys.executable, str(RUN_CLUSTER), "--listen", listen, "--data", str(tmp_path / "cluster")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        shown = ""
        for line in running.stdout:
            shown += line
            if line.startswith("Look around:"):
                break
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 1
        assert f"is running already: node 1 at {listen}, " in second.stderr
        assert all(_is_served(port) for port in ports)
        running.send_signal(signal.SIGINT)
        shown += running.stdout.read()
        assert running.wait() == 0, shown
    assert re.search(r"Node \d leads it now\. Writes stood still for [\d.]+ s\.", shown), shown
    found = re.search(r"([\d,]+) acknowledged, ([\d,]+) found: 0 missing, 0 doubled, 0 out of order\.", shown)
    assert found is not None, shown
    assert found[1] == found[2]
    assert not any(_is_served(port) for port in ports)


def _is_served(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
