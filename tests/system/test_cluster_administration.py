"""What operators see of a cluster that has lost nodes, and what they can do about it, Apache's tool beside ours."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.clients.java_client import Printed
from harness.java import java
from harness.replicas import leader_of, wait_until_known
from harness.waiting import eventually
from ottla.cli.main import main
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster

pytestmark = pytest.mark.timeout(240)

ELECTION_TOOL = "org.apache.kafka.tools.LeaderElectionCommand"


class Console:
    """Runs commands of ours against a cluster, in this process."""

    def __init__(self, cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> None:
        self._cluster = cluster
        self._capsys = capsys

    def __call__(self, *words: str) -> Printed:
        self._capsys.readouterr()
        code = main(["-b", self._cluster.bootstrap_servers, *words])
        return Printed(int(code), *self._capsys.readouterr())

    def tool(self, name: str, *words: str) -> Printed:
        self._capsys.readouterr()
        code = main([name, "--bootstrap-server", self._cluster.bootstrap_servers, *words])
        return Printed(int(code), *self._capsys.readouterr())

    def rows(self, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(*words, "-o", "json").out)
        return found

    def problems(self, *words: str) -> dict[str, list[str]]:
        return {row["topic"]: row["problems"] for row in self.rows("topics", "health", *words)}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    # The fourth node is a broker alone, so the quorum stands without it and one other.
    with EmbeddedCluster(brokers=4) as cluster:
        yield cluster


@pytest.fixture
def console(cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> Console:
    return Console(cluster, capsys)


def create(cluster: EmbeddedCluster, **replicas: list[int]) -> None:
    topics = [NewTopic(name, assignments={0: ids}) for name, ids in replicas.items()]
    with Client(cluster.bootstrap_servers) as client:
        assert {name: made.error for name, made in client.admin.create_topics(topics).items()} == dict.fromkeys(
            replicas
        )
    wait_until_known(cluster.bootstrap_servers, list(replicas))


def leader(cluster: EmbeddedCluster, topic: str) -> int:
    return leader_of(cluster.bootstrap_servers, topic)


def test_partitions_in_trouble_are_listed_until_they_have_recovered(cluster: EmbeddedCluster, console: Console) -> None:
    create(cluster, whole=[1, 2, 3], short=[1, 2, 4], pair=[1, 4], alone=[4], elsewhere=[1])
    nothing = console("topics", "health")
    assert (nothing.code, nothing.out.count("\n")) == (0, 1)
    assert nothing.err == "Looked at 5 partitions of 5 topics: nothing to report.\n"
    cluster.kill(node=4)
    eventually(
        console.problems,
        lambda found: (
            found
            == {
                "alone": ["offline", "under-min-isr", "under-replicated"],
                "pair": ["under-min-isr", "under-replicated"],
                "short": ["at-min-isr", "under-replicated"],
            }
        ),
    )
    assert console("topics", "health").code == 1
    assert console.problems("--only", "at-min-isr").keys() == {"short"}
    assert console("topics", "health", "--only", "at-min-isr").code == 0
    assert console.problems("--only", "under-replicated").keys() == {"alone", "pair", "short"}
    (row,) = console.rows("topics", "health", "pair")
    assert row == {
        "topic": "pair",
        "partition": 0,
        "problems": ["under-min-isr", "under-replicated"],
        "leader": 1,
        "replicas": [1, 4],
        "in_sync": [1],
        "min_in_sync": 2,
        "eligible_leaders": [4],
    }
    cluster.restart(node=4)
    eventually(console.problems, lambda found: found == {})


def test_without_a_quorum_nothing_is_called_well_and_the_way_out_is_told(
    cluster: EmbeddedCluster, console: Console
) -> None:
    create(cluster, steady=[1], lost=[2])
    for node in (2, 3):
        cluster.kill(node=node)
    unwell = eventually(lambda: console("topics", "health"), lambda printed: printed.code == 5)
    assert "the controllers do not answer within 5 s" in unwell.err
    assert "nothing to report" not in unwell.err
    assert "`ottla cluster up` starts" in unwell.err
    short = ("-X", "default.api.timeout.ms=4000", "-X", "request.timeout.ms=2000")
    described = console("topics", "describe", "lost", *short)
    assert described.code == 5
    assert "ottla topics: offsets of lost-0: NETWORK_EXCEPTION" in described.err
    late = console("cluster", "describe", *short)
    assert late.code == 5
    assert "  the controllers do not answer within 5 s" in late.err


def test_an_unclean_leader_is_shown_first_and_elected_on_demand(cluster: EmbeddedCluster, console: Console) -> None:
    create(cluster, lossy=[3, 4])
    cluster.kill(node=3)
    eventually(lambda: leader(cluster, "lossy"), lambda found: found == 4)
    cluster.kill(node=4)
    cluster.restart(node=3)
    eventually(lambda: leader(cluster, "lossy"), lambda found: found == -1)
    assert console("leaders", "elect", "lossy").code != 0
    shown = eventually(
        lambda: console.rows("leaders", "elect", "--all", "--unclean"), lambda rows: rows[0]["new_leader"] == 3
    )
    assert [(row["topic"], row["leader"], row["done"]) for row in shown] == [("lossy", None, False)]
    assert "Nothing was changed: add --execute to do it." in console("leaders", "elect", "--all", "--unclean").err
    assert leader(cluster, "lossy") == -1
    assert console("leaders", "elect", "lossy:0", "--unclean", "--execute").code == 0
    eventually(lambda: leader(cluster, "lossy"), lambda found: found == 3)


def compared(cluster: EmbeddedCluster, console: Console, lines: tuple[tuple[str, ...], tuple[str, ...]]) -> Printed:
    """What Apache's tool prints for the first line, and ours for the second; only the topics' names may differ."""
    apaches = java(ELECTION_TOOL, "--bootstrap-server", cluster.bootstrap_servers, *lines[0])
    done = subprocess.run(apaches, capture_output=True, text=True, check=False)
    ours = console.tool("kafka-leader-election", *lines[1])
    # Java has words of its own for errors that come without any.
    ours_out, apaches_out = (re.sub(r"(Exception): .*", r"\1", out) for out in (ours.out, done.stdout))
    assert ours_out.replace(" ottla-", " TOPIC-") == apaches_out.replace(" apache-", " TOPIC-")
    assert ours.code == done.returncode
    # Java adds where in its code it happened.
    assert ours.err.splitlines()[:1] == done.stderr.splitlines()[:1]
    return ours


@pytest.mark.java
def test_preferred_leaders_return_by_our_command_and_by_both_tools(
    cluster: EmbeddedCluster, console: Console, tmp_path: Path
) -> None:
    create(cluster, apache=[4, 1, 2], ottla=[4, 1, 2], ours=[4, 1, 2])
    preferred = ("--election-type", "preferred")
    each = (
        ("--topic", "apache", "--partition", "0", *preferred),
        ("--topic", "ottla", "--partition", "0", *preferred),
    )
    cluster.kill(node=4)
    eventually(lambda: leader(cluster, "ours"), lambda found: found == 1)
    refused = compared(cluster, console, each)
    assert refused.code == 1
    assert "PreferredLeaderNotAvailableException" in refused.out
    cluster.restart(node=4)
    eventually(console.problems, lambda found: found == {})
    elected = compared(cluster, console, each)
    assert elected.out == "Successfully completed leader election (PREFERRED) for partitions ottla-0\n"
    again = compared(cluster, console, each)
    assert again.out == "Valid replica already elected for partitions ottla-0\n"
    assert (elected.code, again.code) == (0, 0)
    file = tmp_path / "partitions.json"
    file.write_text(json.dumps({"partitions": [{"topic": "nowhere", "partition": 1}]}))
    named = ("--path-to-json-file", str(file), *preferred)
    assert "nowhere-1: org.apache.kafka.common.errors.Unknown" in compared(cluster, console, (named, named)).out
    (row,) = console.rows("leaders", "elect", "--all")
    assert (row["topic"], row["leader"], row["new_leader"], row["done"]) == ("ours", 1, 4, True)
    everything = ("--all-topic-partitions", *preferred)
    assert compared(cluster, console, (everything, everything)) == Printed(0, "", "")
    for line in (preferred, (*preferred, "--topic", "ours"), (*preferred, "--topic", "a", "--all-topic-partitions")):
        assert compared(cluster, console, (line, line)).code == 1
