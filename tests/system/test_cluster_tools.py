"""Kafka's own command line tools on three brokers, one of which was killed: they print what they print of Kafka's."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from harness.clients.java_client import JavaClient
from harness.java import java
from harness.replicas import wait_until_known
from harness.three_brokers import ThreeBrokers, three_brokers
from harness.waiting import eventually
from ottla.client import NewTopic
from ottla.client.sync import Client

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

Tool = Callable[..., list[str]]

KILLED = 2
# Two replicas must be in sync, in topics that have two.
TOPICS = {"whole": {0: [0, 1, 2], 1: [1, 0, 2]}, "pair": {0: [0, 2]}, "alone": {0: [2]}, "away": {0: [0, 1]}}
RECORDS = 10


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path_factory.mktemp("brokers")) as started:
        with Client(started.bootstrap) as client:
            made = client.admin.create_topics([NewTopic(name, assignments=where) for name, where in TOPICS.items()])
        assert {name: one.error for name, one in made.items()} == dict.fromkeys(TOPICS)
        wait_until_known(started.bootstrap, list(TOPICS))
        started.until_in_sync()
        producer = Producer({"bootstrap.servers": started.bootstrap, "enable.idempotence": True})
        for topic, partitions in TOPICS.items():
            for partition in partitions:
                for number in range(RECORDS):
                    producer.produce(topic, b"%d" % number, partition=partition)
        assert producer.flush(60) == 0
        started.cluster.nodes[KILLED].kill()
        survivors = started.cluster.brokers.keys() - {KILLED}
        started.cluster.until_known(survivors)
        yield started


@pytest.fixture(scope="module")
def tool(brokers: ThreeBrokers) -> Iterator[Tool]:
    """Runs one of Kafka's tools; the lines that it printed, words parted by one space."""
    client = JavaClient(brokers.bootstrap)

    def run(main: str, *arguments: str) -> list[str]:
        words = [*arguments, "--bootstrap-server", brokers.bootstrap]
        if main != "ClusterTool":
            words = [*words[-2:], *arguments]
        printed = client.tool(f"org.apache.kafka.tools.{main}", *words)
        assert printed.code == 0, printed
        return [" ".join(line.split()) for line in printed.out.splitlines() if line.strip()]

    yield run
    client.close()


def described(tool: Tool, option: str) -> set[str]:
    """The partitions of our own topics that kafka-topics lists, with their leaders."""
    lines = tool("TopicCommand", "--describe", option)
    found = [re.match(r"Topic: (\w+) Partition: (\d+) Leader: (\w+) .* Isr: ([\d,]*) ?Elr", line) for line in lines]
    return {f"{one[1]}-{one[2]} led by {one[3]}" for one in found if one is not None and one[1] in TOPICS}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (
            "--under-replicated-partitions",
            {"whole-0 led by 0", "whole-1 led by 1", "pair-0 led by 0", "alone-0 led by none"},
        ),
        ("--at-min-isr-partitions", {"whole-0 led by 0", "whole-1 led by 1", "away-0 led by 0"}),
        ("--under-min-isr-partitions", {"pair-0 led by 0", "alone-0 led by none"}),
        ("--unavailable-partitions", {"alone-0 led by none"}),
    ],
)
def test_partitions_in_trouble_are_listed(tool: Tool, option: str, expected: set[str]) -> None:
    eventually(lambda: described(tool, option), lambda found: found == expected)


def test_the_quorum_shows_the_voter_that_lags(tool: Tool) -> None:
    status = dict(line.split(": ", 1) for line in tool("MetadataQuorumCommand", "describe", "--status"))
    assert [voter["id"] for voter in json.loads(status["CurrentVoters"])] == [0, 1, 2]
    assert int(status["LeaderId"]) != KILLED
    rows = [line.split() for line in tool("MetadataQuorumCommand", "describe", "--replication")[1:]]
    assert {int(row[0]): row[-1] for row in rows} == {
        number: "Leader" if str(number) == status["LeaderId"] else "Follower" for number in range(3)
    }
    assert [int(row[0]) for row in rows if int(row[3]) > 0] == [KILLED]


def test_endpoints_are_those_of_living_brokers_unless_the_fenced_are_asked_for(tool: Tool) -> None:
    def states(*options: str) -> dict[str, str]:
        return {row[0]: row[4] for row in map(str.split, tool("ClusterTool", "list-endpoints", *options)[1:])}

    assert states() == {"0": "unfenced", "1": "unfenced"}
    assert states("--include-fenced-brokers") == {"0": "unfenced", "1": "unfenced", "2": "fenced"}


def test_log_directories_of_every_living_broker_are_described(tool: Tool) -> None:
    answer = json.loads(tool("LogDirsCommand", "--describe", "--topic-list", "whole,pair,alone")[-1])
    held = {
        row["broker"]: {one["partition"]: one["offsetLag"] for one in row["logDirs"][0]["partitions"]}
        for row in answer["brokers"]
    }
    assert held == {0: {"whole-0": 0, "whole-1": 0, "pair-0": 0}, 1: {"whole-0": 0, "whole-1": 0}}


def test_offsets_come_from_the_leaders(tool: Tool) -> None:
    asked = ("--topic-partitions", "whole,pair")
    assert tool("GetOffsetShell", *asked, "--time", "-1") == ["pair:0:10", "whole:0:10", "whole:1:10"]
    assert tool("GetOffsetShell", *asked, "--time", "-2") == ["pair:0:0", "whole:0:0", "whole:1:0"]


def test_a_follower_describes_the_producers_of_a_partition_and_none_hangs(tool: Tool) -> None:
    def producers(*broker: str) -> list[str]:
        return tool("TransactionsCommand", "describe-producers", "--topic", "whole", "--partition", "0", *broker)

    header, producer = producers()
    assert producers("--broker-id", "1") == [header, producer]
    assert len(tool("TransactionsCommand", "find-hanging", "--broker-id", "0")) == 1


def test_every_living_broker_tells_its_versions(tool: Tool) -> None:
    lines = tool("BrokerApiVersionsCommand")
    assert sorted(re.findall(r"\(id: (\d)", "\n".join(lines))) == ["0", "1"]
    assert lines.count("Fetch(1): 4 to 18 [usable: 18],") == 2


def test_replicas_are_verified_to_be_equal(brokers: ThreeBrokers) -> None:
    words = ("--broker-list", brokers.bootstrap, "--topics-include", "away", "--report-interval-ms", "500")
    command = java("org.apache.kafka.tools.ReplicaVerificationTool", *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line.strip())
            if "max lag is" in line:
                break
        process.kill()
    assert said[-1].split(": ", 1)[-1].startswith("max lag is 0 for partition away-0 at offset 10"), said
