"""`ottla server --brokers 2` as processes: what dies is started again, and nothing is left behind."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ports import free_ports_in_a_row
from harness.process_tree import command_line, descendants, end
from harness.waiting import eventually
from ottla.cli.server.command import CONTROLLER_PORT_DISTANCE
from ottla.client.errors import ClientError
from ottla.client.sync import Client


class Row:
    """A running row of two brokers."""

    def __init__(self, data: Path) -> None:
        self.ports = free_ports_in_a_row(2, also_at=CONTROLLER_PORT_DISTANCE)
        listen = f"127.0.0.1:{self.ports[0]}"
        command = [sys.executable, "-m", "ottla", "server", "--brokers", "2", "--data", str(data), "--listen", listen]
        self._log = (data.parent / "row.log").open("wb")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.seen = self.children()

    def children(self) -> dict[int, int]:
        """Process ids by node id."""
        files = {pid: command_line(pid).split()[-1:] for pid in descendants(self.process.pid)}
        named = {pid: re.search(r"broker-(\d+)\.properties$", "".join(words)) for pid, words in files.items()}
        return {int(name[1]): pid for pid, name in named.items() if name}

    def brokers(self, port: int) -> set[int]:
        """The brokers that the one at this port knows; none while it does not answer."""
        try:
            with Client(f"127.0.0.1:{port}") as client:
                return {broker.node_id for broker in client.admin.describe_cluster().brokers}
        except ClientError:
            return set()

    def close(self) -> None:
        # First the one that would start the others again.
        for pid in (self.process.pid, *{*self.seen.values(), *self.children().values()}):
            end(pid)
        self.process.communicate()
        self._log.close()


@pytest.fixture
def row(tmp_path: Path) -> Iterator[Row]:
    row = Row(tmp_path / "data")
    try:
        yield row
    finally:
        row.close()


@pytest.mark.timeout(180)
def test_a_row_serves_replaces_what_dies_and_ends_together(row: Row) -> None:
    assert row.said == "2 brokers of Ottla are running.\n"
    before = row.children()
    assert before.keys() == {1, 2}
    eventually(lambda: [row.brokers(port) for port in row.ports], lambda found: found == [{1, 2}, {1, 2}])
    assert end(before[2])
    after = eventually(row.children, lambda found: found.keys() == {1, 2} and found[2] != before[2])
    assert after[1] == before[1]
    eventually(lambda: row.brokers(row.ports[1]), lambda found: found == {1, 2})
    row.process.terminate()
    assert row.process.wait(60) == 0
    assert not any(map(command_line, after.values()))


@pytest.mark.timeout(180)
def test_brokers_end_when_the_process_that_keeps_them_is_killed(row: Row) -> None:
    children = row.children().values()
    row.process.kill()
    row.process.wait(60)
    eventually(lambda: not any(map(command_line, children)), timeout_s=60)
