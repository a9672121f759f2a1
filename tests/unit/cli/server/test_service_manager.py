"""What a service manager learns of a node's start."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cli.server.service_manager import tell_ready


@pytest.fixture
def manager() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(10)
        yield listening


def test_it_is_told_when_the_node_serves(manager: socket.socket, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    manager.bind(path)
    tell_ready({"NOTIFY_SOCKET": path}, "serving 127.0.0.1:9092")
    assert manager.recv(1000) == b"READY=1\nSTATUS=serving 127.0.0.1:9092\n"


def test_its_address_may_have_no_file(manager: socket.socket) -> None:
    manager.bind(f"\0ottla-test-{os.getpid()}")
    tell_ready({"NOTIFY_SOCKET": f"@ottla-test-{os.getpid()}"}, "")
    assert manager.recv(1000).startswith(b"READY=1\n")


def test_processes_that_the_node_starts_do_not_speak_for_it(manager: socket.socket, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    manager.bind(path)
    variables = {"NOTIFY_SOCKET": path, "HOME": "/"}
    tell_ready(variables, "")
    assert variables == {"HOME": "/"}


def test_without_one_nothing_is_told() -> None:
    tell_ready({}, "")


@pytest.mark.parametrize("address", ["/no/such/socket", "vsock:2:9999", "relative"])
def test_one_that_cannot_be_reached_does_not_keep_the_node_from_serving(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    tell_ready({"NOTIFY_SOCKET": address}, "")
    assert address in caplog.text
