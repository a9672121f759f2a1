"""A rolling restart under load: applications with default settings notice nothing."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.default_clients import default_clients
from harness.ports import free_ports_in_a_row
from ottla.cli.cluster.local.cluster_directory import CONTROLLER_PORT_DISTANCE
from ottla.client import NewTopic
from ottla.client.sync import Client

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

NODES = 3
KINDS = ("java", "confluent")


def ottla(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ottla", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "cluster"
    yield root
    ottla("cluster", "down", "--data", str(root))


def test_no_error_reaches_applications_with_default_settings(root: Path) -> None:
    first = free_ports_in_a_row(NODES, also_at=CONTROLLER_PORT_DISTANCE)[0]
    bootstrap = f"127.0.0.1:{first}"
    ottla("cluster", "up", "-n", str(NODES), "--listen", bootstrap, "--data", str(root))
    with Client(bootstrap) as client:
        created = client.admin.create_topics([NewTopic(kind, NODES) for kind in KINDS])
    assert [one.error for one in created.values()] == [None] * len(KINDS)
    with closing(default_clients(bootstrap, "java")) as java, closing(default_clients(bootstrap, "confluent")) as other:
        for clients in (java, other):
            clients.wait_until_said("read")
        ottla("cluster", "restart", "--rolling", "--data", str(root))
        for clients in (java, other):
            clients.wait_until_said("acknowledged", clients.count("acknowledged") + 10)
            clients.wait_until_said("read", clients.count("read") + 1)
            assert clients.finish() == 0
            assert [line for line in clients.said if line.startswith("error")] == []
