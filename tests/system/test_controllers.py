"""Three controllers as processes of their own: kill -9, a stop, a return. One leads, the others follow."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.controllers import CLUSTER_ID, Controllers
from harness.java import java
from harness.servers import Server
from harness.waiting import eventually
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.client.errors import ClientError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import create_topics_request, describe_quorum_request
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.describe_quorum_response import DescribeQuorumResponse, PartitionData

pytestmark = pytest.mark.timeout(300)

QUORUM_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


class ControllerProcess(Server):
    def __init__(self, controllers: Controllers, node_id: int) -> None:
        home = controllers.root / f"process-{node_id}"
        home.mkdir()
        super().__init__(home)
        self.port = controllers.ports[node_id]
        self._properties = controllers.properties(node_id)
        self._initial_controllers = controllers.initial_controllers

    def format(self) -> None:
        voters = ["--initial-controllers", self._initial_controllers] if self._initial_controllers else []
        command = ["storage", "format", "-t", CLUSTER_ID, "-c", str(self._properties), *voters]
        subprocess.run([sys.executable, "-m", "ottla.cli.main", *command], check=True, capture_output=True)

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "ottla.cli.main", "server", str(self._properties)]

    def _serves(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def described(self) -> PartitionData | None:
        """The quorum, if this node leads it."""

        async def ask() -> PartitionData | None:
            try:
                connection = await open_connection(Address("127.0.0.1", self.port), client_id="test")
                partition = describe_quorum_request.PartitionData(partition_index=0)
                topic = describe_quorum_request.TopicData(topic_name="__cluster_metadata", partitions=[partition])
                request = describe_quorum_request.DescribeQuorumRequest(topics=[topic])
                response = await connection.request(request, DescribeQuorumResponse)
            except ClientError:
                return None
            await connection.close()
            (found,) = response.topics[0].partitions
            return found if found.error_code == ErrorCode.NONE else None

        return asyncio.run(ask())

    def create_topic(self, name: str) -> int:
        """The error code that the controller answers."""

        async def ask() -> int:
            connection = await open_connection(Address("127.0.0.1", self.port), client_id="test")
            topic = create_topics_request.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            request = create_topics_request.CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
            response = await connection.request(request, CreateTopicsResponse)
            await connection.close()
            return response.topics[0].error_code

        return asyncio.run(ask())


class ApacheController(ControllerProcess):
    """A controller of Apache Kafka, in the same quorum."""

    def format(self) -> None:
        assert self._initial_controllers is not None
        # What Ottla does not serve must not be in force.
        features = [part for name in ("group", "share", "streams") for part in ("--feature", f"{name}.version=0")]
        voters = ("--initial-controllers", self._initial_controllers)
        command = ("format", "-t", CLUSTER_ID, "-c", str(self._properties), *voters, *features)
        subprocess.run(java("kafka.tools.StorageTool", *command), check=True, capture_output=True)

    def _command(self) -> list[str]:
        return java("kafka.Kafka", str(self._properties))


class Quorum:
    def __init__(self, controllers: Controllers, apache_ids: Collection[int] = ()) -> None:
        self.servers = {
            node_id: (ApacheController if node_id in apache_ids else ControllerProcess)(controllers, node_id)
            for node_id in controllers.ports
        }
        self.bootstrap = controllers.bootstrap

    def leader(self, *, other_than: int | None = None, timeout_s: float = 60.0) -> int:
        """Who leads and has a majority that fetches from it."""

        def look() -> int | None:
            for node_id, server in self.servers.items():
                described = None if node_id == other_than else server.described()
                if described is not None and described.leader_id == node_id and described.high_watermark > 0:
                    return node_id
            return None

        found = eventually(look, timeout_s=timeout_s)
        assert found is not None
        return found

    def until_all_follow(self, leader_id: int) -> None:
        """Returns when every voter has the whole log of the leader."""

        def look() -> list[int]:
            described = self.servers[leader_id].described()
            if described is None:
                return []
            return [voter.log_end_offset - described.high_watermark for voter in described.current_voters]

        eventually(look, lambda lags: len(lags) == 3 and min(lags) >= 0, timeout_s=60)


@contextmanager
def running(root: Path, *, is_static: bool) -> Iterator[Quorum]:
    with running_quorum(Quorum(Controllers(root, is_static=is_static))) as quorum:
        yield quorum


@contextmanager
def running_quorum(quorum: Quorum) -> Iterator[Quorum]:
    try:
        for server in quorum.servers.values():
            server.format()
            server.launch()
        yield quorum
    finally:
        for server in quorum.servers.values():
            server.close()


@pytest.mark.parametrize("is_static", [True, False], ids=["voters-in-settings", "voters-formatted"])
def test_a_killed_leader_is_replaced_and_follows_when_it_is_back(tmp_path: Path, *, is_static: bool) -> None:
    with running(tmp_path, is_static=is_static) as quorum:
        former = quorum.leader()
        quorum.until_all_follow(former)
        before = quorum.servers[former].described()
        assert before is not None
        quorum.servers[former].kill()
        leader = quorum.leader(other_than=former)
        after = quorum.servers[leader].described()
        assert after is not None
        assert after.leader_epoch > before.leader_epoch
        assert after.high_watermark >= before.high_watermark
        quorum.servers[former].start()
        quorum.until_all_follow(quorum.leader())


def test_a_stopped_leader_ends_cleanly_and_one_controller_of_three_decides_nothing(tmp_path: Path) -> None:
    with running(tmp_path, is_static=False) as quorum:
        first = quorum.leader()
        quorum.until_all_follow(first)
        assert quorum.servers[first].create_topic("t") == ErrorCode.INVALID_REPLICATION_FACTOR, "there are no brokers"
        assert quorum.servers[first].stop() == 0
        second = quorum.leader(other_than=first)
        quorum.servers[second].kill()
        (last,) = set(quorum.servers) - {first, second}
        eventually(lambda: quorum.servers[last].create_topic("t"), lambda code: code == ErrorCode.NOT_CONTROLLER)
        assert quorum.servers[last].described() is None
        quorum.servers[first].start()
        assert quorum.leader() in (first, last)


def test_a_controller_that_lost_its_metadata_elects_nobody_before_it_has_them_again(tmp_path: Path) -> None:
    with running(tmp_path, is_static=False) as quorum:
        first = quorum.leader()
        quorum.until_all_follow(first)
        wiped, last = set(quorum.servers) - {first}
        for node_id in (first, wiped):
            quorum.servers[node_id].kill()
        shutil.rmtree(tmp_path / f"node-{wiped}" / "__cluster_metadata-0")
        quorum.servers[wiped].start()
        for server in (quorum.servers[wiped], quorum.servers[last]):
            eventually(lambda server=server: server.create_topic("t"), lambda code: code == ErrorCode.NOT_CONTROLLER)
        quorum.servers[first].start()
        leader = quorum.leader()
        assert leader != wiped
        quorum.until_all_follow(leader)
        quorum.servers[leader].kill()
        assert quorum.leader(other_than=leader) != leader, "the one that was wiped votes again"


@pytest.mark.java
def test_apaches_tool_finds_the_leader_by_any_controller(tmp_path: Path) -> None:
    with running(tmp_path, is_static=False) as quorum:
        leader = quorum.leader()
        quorum.until_all_follow(leader)
        tool = java(QUORUM_TOOL, "--bootstrap-controller", quorum.bootstrap, "describe", "--status")
        done = subprocess.run(tool, check=True, capture_output=True, text=True)
        lines = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
        assert lines["ClusterId"].strip() == CLUSTER_ID
        assert lines["LeaderId"].strip() == str(leader)
        assert lines["CurrentVoters"].count('"id"') == 3


@pytest.mark.java
def test_controllers_of_apache_kafka_and_ottla_are_one_quorum(tmp_path: Path) -> None:
    """Each of them leads the other: first that of Apache Kafka, since the others are slow to stand for election."""
    controllers = Controllers(tmp_path, is_static=False)
    for node_id in (2, 3):
        controllers.settings[node_id]["controller.quorum.election.timeout.ms"] = "30000"
    with running_quorum(Quorum(controllers, apache_ids=(1,))) as quorum:
        assert quorum.leader() == 1
        quorum.until_all_follow(1)
        quorum.servers[1].kill()
        # If both stand at once neither wins, and the next election is one or two of these timeouts away.
        leader = quorum.leader(other_than=1, timeout_s=180)
        assert leader in (2, 3)
        quorum.servers[1].launch()
        quorum.until_all_follow(leader)
