"""Fixtures for tests that need Kafka: `ottla_cluster` and `ottla_topic`.

pytest loads this module at every start where Ottla is installed. It therefore imports nothing but pytest, and its one
hook looks only at tests that used a cluster.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ottla.testing.embedded_cluster import EmbeddedCluster

_LOG_TAIL_LINES = 40
_TOPIC_NAME_START_MAX = 200


@pytest.fixture(scope="session")
def ottla_cluster() -> Iterator[EmbeddedCluster]:
    """A running cluster, one for the whole session; under pytest-xdist one for each worker.

    For other settings define a fixture of this name in a conftest.py, which gives an EmbeddedCluster of your own.
    """
    from ottla.testing.embedded_cluster import EmbeddedCluster

    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture
def ottla_topic(ottla_cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an empty topic with one partition that only this test has; it is deleted after the test.

    It has as many replicas as the cluster gives a topic by default.
    """
    from ottla.client import NewTopic
    from ottla.client.sync import Client
    from ottla.protocol.errors import ErrorCode

    start = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name).strip("-")[:_TOPIC_NAME_START_MAX]
    name = f"{start}-{uuid.uuid4().hex[:12]}"
    with Client(ottla_cluster.bootstrap_servers) as client:
        created = client.admin.create_topics([NewTopic(name, partitions=1)])[name]
    if created.error is not None:
        raise created.error
    yield name
    if not ottla_cluster.is_running:
        # The test killed a node: the topic goes with the cluster's data.
        return
    with Client(ottla_cluster.bootstrap_servers) as client:
        error = client.admin.delete_topics([name])[name]
    # The test may have deleted its topic itself.
    if error is not None and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test that uses the cluster shows the end of each node's log."""
    report = yield
    if report.failed:
        cluster = getattr(item, "funcargs", {}).get("ottla_cluster")
        if cluster is not None:
            for node in cluster.nodes:
                title = "Ottla's log" if len(cluster.nodes) == 1 else f"Ottla's log, node {node}"
                report.sections.append((title, "\n".join(cluster.log(node).splitlines()[-_LOG_TAIL_LINES:])))
    return report
