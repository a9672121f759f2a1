"""What `make run` says about an address that cannot be served, and that it leaves no node behind."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.ports import free_port

RUN_NODE = Path(__file__).resolve().parents[2] / "tools" / "run_node.py"


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


def test_no_node_is_left_behind_by_who_has_read_enough(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, str(RUN_NODE), "--listen", f"127.0.0.1:{port}", "--data", str(tmp_path / "data")]
    # It may notice by itself, or by the example that it shows, which then says so.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "Ottla is running.\n"
        running.stdout.close()
        assert running.wait(timeout=60) == 1
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
