"""Commands that wait for a cluster in trouble say so while they wait, and how it ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.servers import OttlaServer, Server
from harness.small_disk import small_disk
from harness.waiting import eventually

pytestmark = pytest.mark.timeout(180)

FIVE_SECONDS = ("-X", "delivery.timeout.ms=5000", "-X", "request.timeout.ms=3000")


def command(server: Server, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "ottla.cli.main", "-b", server.bootstrap, *arguments]


def run(server: Server, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(server, *arguments), input=stdin, capture_output=True, text=True, timeout=120, check=False
    )


@contextmanager
def producing_to_a_broker_that_is_gone(server: Server, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`ottla produce`, which has written one record, and has another one for a broker that was killed meanwhile."""
    assert run(server, "topics", "create", "t", "-p", "1").returncode == 0
    with (
        subprocess.Popen(
            command(server, "produce", "t", *options), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as producing,
        subprocess.Popen(command(server, "consume", "t"), stdout=subprocess.PIPE, text=True) as consuming,
    ):
        try:
            assert producing.stdin is not None and consuming.stdout is not None
            producing.stdin.write("x\n")
            producing.stdin.flush()
            assert consuming.stdout.readline() == "x\n"
            consuming.kill()
            server.kill()
            producing.stdin.write("y\n")
            producing.stdin.close()
            yield producing
        finally:
            consuming.kill()
            producing.kill()


def test_produce_tells_what_keeps_it_waiting_and_ends_clearly(start_server: Callable[..., Server]) -> None:
    server = start_server()
    with producing_to_a_broker_that_is_gone(server, *FIVE_SECONDS) as producing:
        assert producing.stderr is not None
        first, *_, last, finding, remedy = producing.stderr.read().splitlines()
        assert first.startswith("ottla: producing to t-0 at broker 1 has failed for ")
        assert " s more: " in first
        assert server.bootstrap in first
        assert last.startswith(
            "ottla produce: record 2 was not written: no broker acknowledged a batch for t-0 within 5000 ms"
        )
        assert finding == "  no broker answers any more."
        assert remedy.startswith("  Start what is down")
        assert producing.wait(timeout=30) == 5


def test_ctrl_c_says_what_it_waits_for_and_the_second_one_ends_it(start_server: Callable[..., Server]) -> None:
    with producing_to_a_broker_that_is_gone(start_server()) as stuck:
        assert stuck.stderr is not None
        assert "has failed for " in stuck.stderr.readline()
        stuck.send_signal(signal.SIGINT)
        told = stuck.stderr.readline()
        assert told == "ottla: waiting for the records under way; press Ctrl-C again to give them up\n"
        stuck.send_signal(signal.SIGINT)
        assert stuck.wait(timeout=30) == 130


@pytest.fixture
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OttlaServer]:
    """A node with a topic, on a disk that takes next to nothing more."""
    home = tmp_path_factory.mktemp("server")
    with small_disk(home / "disk", 24 * 1024 * 1024) as disk:
        server = OttlaServer(home)
        server.data = disk.path / "data"
        server.start()
        try:
            assert run(server, "topics", "create", "t", "-p", "1").returncode == 0
            assert run(server, "produce", "t", stdin="x\n").returncode == 0
            (disk.path / "ballast").write_bytes(bytes(disk.free_bytes() - 64 * 1024))
            yield server
        finally:
            server.close()


@pytest.mark.root
def test_produce_tells_that_the_disk_is_full(full: OttlaServer) -> None:
    line = "x" * 100_000 + "\n"
    done = run(full, "produce", "t", *FIVE_SECONDS, stdin=line)
    assert done.stderr.startswith("ottla: producing to t-0 at broker 1 has failed for ")
    assert "KAFKA_STORAGE_ERROR: " in done.stderr
    assert done.returncode == 5


def test_consume_tells_that_the_broker_is_gone(start_server: Callable[..., Server], tmp_path: Path) -> None:
    server = start_server()
    assert run(server, "topics", "create", "t", "-p", "1").returncode == 0
    assert run(server, "produce", "t", stdin="x\n").returncode == 0
    said = tmp_path / "said"
    with (
        said.open("wb") as errors,
        subprocess.Popen(
            command(server, "consume", "t"),
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        ) as consuming,
    ):
        try:
            assert consuming.stdout is not None
            assert consuming.stdout.readline() == b"x\n"
            server.kill()
            eventually(lambda: "has failed for " in said.read_text(), timeout_s=60)
            line = said.read_text().splitlines()[0]
            assert line.startswith("ottla: fetching t-0 from broker 1 has failed for ")
            assert "trying again until Ctrl-C: " in line
            assert server.bootstrap in line
            server.start()
            assert run(server, "produce", "t", stdin="y\n").returncode == 0
            assert consuming.stdout.readline() == b"y\n"
        finally:
            consuming.kill()
