"""`ottla cluster up` and the verbs around it, with a real node. Each command is a process, as the nodes outlive it."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clients.java_client import Printed
from harness.ports import free_port, free_ports_in_a_row
from harness.waiting import eventually
from ottla.cli.cluster.local import cluster_directory
from ottla.cli.exits import ExitCode


def ottla(*words: str) -> Printed:
    done = subprocess.run([sys.executable, "-m", "ottla", *words], capture_output=True, text=True, check=False)
    return Printed(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "cluster"
    yield root
    ottla("cluster", "down", "--data", str(root))


def state(root: Path) -> list[str]:
    return [node["state"] for node in json.loads(ottla("cluster", "status", "--data", str(root), "-o", "json").out)]


def test_a_cluster_is_made_killed_restarted_and_taken_down(root: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    data = ("--data", str(root))
    up = ottla("cluster", "up", "-n", "1", "--listen", address, "--override", "num.partitions=3", *data)
    assert up.code == 0, up.err
    assert f"bootstrap   {address}" in up.out
    assert ottla("cluster", "status", *data).code == 0
    ottla("-b", address, "topics", "create", "orders")
    assert ottla("cluster", "kill", "1", *data).code == 0
    stopped = ottla("cluster", "status", *data)
    assert stopped.code == 1
    assert "stopped" in stopped.out
    assert ottla("cluster", "kill", "1", *data).err == "ottla cluster: Node 1 is not running\n"
    assert "Node 1 is not running" in ottla("cluster", "restart", "--rolling", *data).err
    with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
        assert "another process listens on" in ottla("cluster", "up", *data).err
    again = ottla("cluster", "up", *data)
    assert again.code == 0, again.err
    described = json.loads(ottla("-b", address, "topics", "describe", "orders", "-o", "json").out)
    assert len(described[0]["partitions"]) == 3
    assert ottla("cluster", "restart", "--rolling", *data).code == 0
    assert state(root) == ["serving"]
    (root / "notes").write_text("not of the cluster")
    assert ottla("cluster", "down", "--delete", *data).code == 0
    assert [path.name for path in root.iterdir()] == ["notes"]


def test_a_port_that_is_taken_leaves_nothing_behind_and_another_can_be_asked_for(root: Path) -> None:
    data = ("--data", str(root))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = ottla("cluster", "up", "-n", "1", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", *data)
    assert refused.code == ExitCode.CONFLICT
    assert "choose another first port: --listen HOST:PORT" in refused.err
    assert not root.exists()
    first, second = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    assert ottla("cluster", "up", "-n", "1", "--listen", first, *data).code == 0
    busy = ottla("cluster", "up", "--listen", second, *data)
    assert busy.code == ExitCode.CONFLICT
    assert f"the cluster in {root} runs from {first} on (node 1)" in busy.err
    assert ottla("-b", first, "topics", "create", "orders").code == 0
    assert ottla("cluster", "down", *data).code == 0
    moved = ottla("cluster", "up", "--listen", second, *data)
    assert moved.code == 0, moved.err
    assert "orders" in ottla("-b", second, "topics", "list").out


def test_a_misspelt_setting_is_told_where_it_was_written(root: Path) -> None:
    listen = ("-n", "2", "--listen", f"127.0.0.1:{free_ports_in_a_row(2, also_at=100)[0]}")
    up = ottla("cluster", "up", *listen, "--override", "log.retension.ms=1", "--data", str(root))
    assert up.code == 0
    # Once, though it is so for both nodes.
    assert up.err == (
        "ottla cluster: warning: Unknown configuration log.retension.ms is ignored: did you mean log.retention.ms?\n"
    )


def test_only_the_listeners_of_clients_move(tmp_path: Path) -> None:
    root = tmp_path / "cluster"
    ports = free_ports_in_a_row(3, also_at=cluster_directory.CONTROLLER_PORT_DISTANCE)
    cluster_directory.create(root, 3, f"127.0.0.1:{ports[0]}", {})
    file = root / "node-2" / "server.properties"
    file.write_text(f"# mine\n{file.read_text()}")
    before = file.read_text().splitlines()
    _, nodes = cluster_directory.read(root)
    others = free_ports_in_a_row(3)
    cluster_directory.move(nodes, f"127.0.0.1:{others[0]}")
    _, moved = cluster_directory.read(root)
    assert [node.client_address for node in moved] == [f"127.0.0.1:{port}" for port in others]
    assert [node.controller_address for node in moved] == [node.controller_address for node in nodes]
    after = file.read_text().splitlines()
    assert [line for line in after if not line.startswith("listeners=")] == [
        line for line in before if not line.startswith("listeners=")
    ]


def test_a_controllers_port_that_is_taken_is_told_apart(root: Path) -> None:
    port = free_port()
    cluster_directory.create(root, 1, f"127.0.0.1:{port}", {})
    with socket.create_server(("127.0.0.1", port + cluster_directory.CONTROLLER_PORT_DISTANCE)):
        refused = ottla("cluster", "up", "--data", str(root))
    assert refused.code == ExitCode.CONFLICT
    assert "controllers know each other by these ports" in refused.err


def test_a_frozen_node_is_not_called_running(root: Path) -> None:
    data = ("--data", str(root))
    assert ottla("cluster", "up", "-n", "1", "--listen", f"127.0.0.1:{free_port()}", *data).code == 0
    assert ottla("cluster", "kill", "1", "--signal", "STOP", *data).code == 0
    frozen = ottla("cluster", "up", *data)
    assert frozen.code == ExitCode.UNAVAILABLE
    assert "is running" not in frozen.out
    assert "does not answer; is it frozen?" in frozen.err
    assert "0 of 1 controllers are up" in frozen.err
    assert ottla("cluster", "kill", "1", "--signal", "CONT", *data).code == 0
    assert ottla("cluster", "up", *data).code == 0


def test_a_controller_that_has_lost_its_data_is_not_formatted_by_the_way(tmp_path: Path) -> None:
    root = tmp_path / "cluster"
    cluster_directory.create(root, 1, f"127.0.0.1:{free_port()}", {})
    # It ran before.
    (root / "node-1" / "node.log").touch()
    refused = ottla("cluster", "up", "--data", str(root))
    assert refused.code == ExitCode.CONFLICT
    assert "Node 1 is a controller and has lost its data" in refused.err
    assert "--initial-controllers" in refused.err
    assert not (root / "node-1" / "data").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "-n", "0"), "-n 0: a cluster has at least one node"),
        (("up", "--listen", "here"), "--listen here: write HOST:PORT"),
        (("up", "--listen", "127.0.0.1:65500"), "do not fit"),
        (("up", "--override", "node.id=4"), "--override node.id: it differs from node to node"),
        (("up", "--override", "4"), "--override 4: write KEY=VALUE"),
        (("status",), "holds no cluster"),
        (("kill", "1"), "holds no cluster"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_made(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    printed = ottla("cluster", *words, "--data", str(tmp_path / "cluster"))
    assert printed.code != 0
    assert said in printed.err
    assert not (tmp_path / "cluster").exists()


def test_ctrl_c_while_nodes_start_says_what_is_left_and_the_next_start_goes_on(root: Path) -> None:
    words = ("cluster", "up", "-n", "1", "--listen", f"127.0.0.1:{free_port()}", "--data", str(root))
    command = [sys.executable, "-m", "ottla", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as starting:
        eventually((root / "node-1" / "node.log").exists)
        starting.send_signal(signal.SIGINT)
        _, told = starting.communicate(timeout=60)
    assert starting.returncode == ExitCode.INTERRUPTED
    assert told.startswith("ottla cluster: interrupted. Node 1 ")
    assert f"`ottla cluster up --data {root}` goes on" in told
    again = ottla("cluster", "up", "--data", str(root))
    assert again.code == 0, again.err
