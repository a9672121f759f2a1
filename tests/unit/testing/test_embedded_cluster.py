import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.ports import free_port
from harness.replicas import partitions_of
from harness.waiting import eventually
from ottla.client import ClientSettings, ConfigResource, NewTopic, ResourceType, TopicPartition
from ottla.client.admin.topics import PartitionDescription
from ottla.client.errors import BrokerUnreachable
from ottla.client.sync import Client
from ottla.testing import ClusterError, EmbeddedCluster


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as started:
        yield started


def topics(cluster: EmbeddedCluster) -> set[str]:
    with Client(cluster.bootstrap_servers) as client:
        return {topic.name for topic in client.admin.list_topics()}


def create_topic(cluster: EmbeddedCluster, name: str) -> None:
    with Client(cluster.bootstrap_servers) as client:
        assert client.admin.create_topics([NewTopic(name, 1, 1)])[name].error is None


def test_a_cluster_serves_clients_while_it_is_open_and_leaves_nothing(tmp_path: Path) -> None:
    with EmbeddedCluster() as cluster:
        assert cluster.get_bootstrap_server() == cluster.bootstrap_servers
        create_topic(cluster, "orders")
        assert topics(cluster) == {"orders"}
        data = cluster.data_directory
        assert (data / "orders-0").is_dir()
        host, _, port = cluster.bootstrap_servers.rpartition(":")
    assert not data.parent.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_a_crash_and_a_restart_keep_the_address_and_the_data(cluster: EmbeddedCluster) -> None:
    address = cluster.bootstrap_servers
    create_topic(cluster, "orders")
    cluster.kill()
    assert not cluster.is_running
    cluster.start()
    assert cluster.is_running
    cluster.restart()
    assert "Shutting down" in cluster.log()
    assert cluster.bootstrap_servers == address
    assert topics(cluster) == {"orders"}


def test_nobody_gets_the_port_of_a_cluster_that_is_down(cluster: EmbeddedCluster) -> None:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    cluster.kill(signal.SIGTERM)
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((host, int(port)))
    cluster.restart()


def test_a_cluster_that_was_stopped_begins_anew(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "orders")
    cluster.stop()
    cluster.stop()
    assert topics(cluster.start()) == set()


def test_settings_have_kafkas_names_and_beat_the_ones_for_tests() -> None:
    config = {"num.partitions": 7, "auto.create.topics.enable": False, "group.initial.rebalance.delay.ms": "5"}
    with EmbeddedCluster(config=config) as cluster, Client(cluster.bootstrap_servers) as client:
        broker = ConfigResource(ResourceType.BROKER, "1")
        configs = client.admin.describe_configs([broker])[broker].entries
        found = {name: configs[name].value for name in (*config, "offsets.topic.num.partitions")}
    assert found == {
        "num.partitions": "7",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "5",
        "offsets.topic.num.partitions": "1",
    }


def test_clusters_stand_side_by_side(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "here")
    with EmbeddedCluster() as other:
        assert topics(other) == set()


def test_a_cluster_survives_the_thread_that_started_it() -> None:
    cluster = EmbeddedCluster()
    starter = threading.Thread(target=cluster.start)
    starter.start()
    starter.join()
    try:
        assert topics(cluster) == set()
    finally:
        cluster.stop()


def test_a_cluster_without_brokers_is_refused() -> None:
    with pytest.raises(ValueError, match="brokers=0: a cluster has at least one broker"):
        EmbeddedCluster(brokers=0)


def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match=r"there is no setting num\.partition: did you mean num\.partitions\?"):
        EmbeddedCluster(config={"num.partition": 3})


def test_a_port_may_be_chosen_and_is_kept_after_a_stop() -> None:
    port = free_port()
    cluster = EmbeddedCluster(port=port)
    for _ in range(2):
        with cluster:
            assert cluster.bootstrap_servers == f"127.0.0.1:{port}"


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="port 99999 is too large: ports go from 0 to 65535"):
        EmbeddedCluster(port=99999)


def test_a_node_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cluster = EmbeddedCluster(config={"num.partitions": "many"})
    with pytest.raises(ClusterError, match=r"(?s)ended with code 1 .*Invalid value many for configuration num\.part"):
        cluster.start()
    assert not cluster.is_running
    assert list(tmp_path.iterdir()) == []


def test_what_needs_a_running_cluster_says_so(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ClusterError, match="running already"):
        cluster.start()
    cluster.kill()
    with pytest.raises(ClusterError, match="nothing to kill"):
        cluster.kill()
    cluster.stop()
    for use in (cluster.restart, cluster.log, cluster.get_bootstrap_server, lambda: cluster.data_directory):
        with pytest.raises(ClusterError, match=r"call start\(\)"):
            use()


def test_optimised_tests_get_a_node_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    with EmbeddedCluster() as cluster:
        assert cluster.is_running


STARTED = """
import sys
from ottla.testing import EmbeddedCluster
cluster = EmbeddedCluster()
cluster.start()
print(cluster._nodes[1].pid, cluster.data_directory.parent, flush=True)
sys.stdin.read()
"""
# Says so as soon as there is a child, long before that serves anybody.
STARTING = STARTED.replace(
    "cluster.start()",
    """
from ottla.testing.embedded_node import EmbeddedNode
def wait(node):
    print(node.pid, cluster._home, flush=True)
    sys.stdin.read()
EmbeddedNode.wait_until_serving = wait
cluster.start()
""",
)


@pytest.mark.parametrize("script", [STARTED, STARTING], ids=["started", "starting"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_node_and_its_data_go_with_a_parent_that_is_killed(how: signal.Signals, script: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, home = parent.stdout.readline().split()
    assert Path(home).is_dir()
    parent.send_signal(how)
    parent.communicate()
    eventually(lambda: not is_alive(int(pid)), timeout_s=30)
    assert not Path(home).exists()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that its new parent has not collected yet does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if sys.platform == "linux" else ""
    except OSError:
        return False
    return state != "Z"


def values_of(cluster: EmbeddedCluster, topic: str, count: int) -> list[bytes | None]:
    """The first records of a topic with one partition."""
    found: list[bytes | None] = []
    with Client(cluster.bootstrap_servers) as client, client.consumer() as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 0)
        while len(found) < count:
            found += [record.value for record in consumer.poll(timeout_ms=10_000)]
    return found


def test_a_cluster_of_three_lives_through_the_loss_and_the_freeze_of_a_node() -> None:
    # A frozen node is silent, not dead: only its session tells.
    config = {"broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 200}
    impatient = ClientSettings(request_timeout_ms=2000)
    with EmbeddedCluster(brokers=3, config=config) as cluster, Client(cluster.bootstrap_servers, impatient) as client:
        assert cluster.bootstrap_servers.count(",") == 2
        assert sorted(path.name for path in cluster.data_directory.iterdir()) == ["node-1", "node-2", "node-3"]
        created = client.admin.create_topics([NewTopic("orders", assignments={0: [3, 2, 1]})])
        assert created["orders"].error is None

        def partition() -> PartitionDescription:
            return partitions_of(client, "orders")[0]

        def send(value: bytes) -> None:
            with client.producer() as producer:
                producer.send("orders", value).result()

        cluster.kill(node=3)
        assert not cluster.is_running
        send(b"while it was dead")
        assert partition().leader_id != 3
        cluster.restart(node=3)
        assert cluster.is_running
        eventually(lambda: set(partition().in_sync), lambda found: found == {1, 2, 3})
        leader = partition().leader_id
        cluster.pause(leader)
        eventually(lambda: partition().leader_id, lambda found: found not in (leader, -1))
        send(b"while it was frozen")
        cluster.resume(leader)
        eventually(lambda: set(partition().in_sync), lambda found: found == {1, 2, 3})
        assert values_of(cluster, "orders", 2) == [b"while it was dead", b"while it was frozen"]
        assert "orders" in cluster.log(node=2)
        with pytest.raises(ValueError, match="node=4: the cluster has the nodes 1, 2, 3"):
            cluster.kill(node=4)
        with pytest.raises(ValueError, match=r"kill\(2\): name a node with kill\(node=2\)"):
            cluster.kill(2)  # type: ignore[arg-type]


def is_reset(cluster: EmbeddedCluster) -> bool:
    """Whether a connection to the node ends with a reset: before the client knows that it has one, or after."""
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.recv(1)
    except ConnectionResetError:
        return True
    return False


def test_a_lone_node_can_be_cut_off_from_its_clients_alone(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ValueError, match="nobody to cut off: name nodes on either side, or clients=True"):
        cluster.partition(1)
    cluster.partition(1, clients=True)
    impatient = ClientSettings(connect_timeout_ms=300)
    with pytest.raises(BrokerUnreachable, match="did not answer"), Client(cluster.bootstrap_servers, impatient):
        pass
    cluster.heal()
    assert topics(cluster) == set()
    cluster.pause(1)
    cluster.partition(1, clients=True, reset=True)
    cluster.resume(1)
    assert is_reset(cluster)
    cluster.restart()
    assert is_reset(cluster)


def test_a_partition_that_is_none_is_refused(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ValueError, match="Node 1 cannot be cut off from itself"):
        cluster.partition(1, [1])
    with pytest.raises(ValueError, match="a connection that is reset ends in both directions"):
        cluster.partition(1, clients=True, one_way=True, reset=True)
    with pytest.raises(ValueError, match="node=4: the cluster has the nodes 1"):
        cluster.partition(1, 4)
    with pytest.raises(ClusterError, match=r"call start\(\)"):
        EmbeddedCluster().partition(1)


def test_a_leader_that_is_cut_off_is_replaced_and_comes_back_when_the_cut_heals() -> None:
    config = {"broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 200}
    with EmbeddedCluster(brokers=3, config=config) as cluster, ExitStack() as closing:
        # Clients reach every node, so those that ask one that is cut off hear what it still believes.
        impatient = ClientSettings(request_timeout_ms=2000)
        addresses = cluster.bootstrap_servers.split(",")
        clients = {node: closing.enter_context(Client(address, impatient)) for node, address in enumerate(addresses, 1)}
        created = clients[1].admin.create_topics([NewTopic("orders", assignments={0: [3, 2, 1]})])
        assert created["orders"].error is None

        def seen_by(node: int) -> PartitionDescription:
            return partitions_of(clients[node], "orders")[0]

        def lose(leader: int, **how: bool) -> int:
            """The leader is cut off and comes back; the one that leads then."""
            other = leader % 3 + 1
            eventually(lambda: seen_by(leader).leader_id, lambda found: found == leader)
            cluster.partition(leader, **how)
            elected = eventually(lambda: seen_by(other).leader_id, lambda found: found not in (leader, -1))
            assert seen_by(leader).leader_id == leader
            cluster.heal()
            eventually(lambda: seen_by(leader).leader_id, lambda found: found == elected)
            eventually(lambda: set(seen_by(leader).in_sync), lambda found: found == {1, 2, 3})
            return elected

        second = lose(3)
        third = lose(second, one_way=True)
        lose(third, reset=True)
