"""Where its replicas are, as the controller hears it from a broker with several directories."""

from pathlib import Path

from harness.joined_brokers import until
from harness.running_node import RunningNode, run_node
from harness.transactional_requests import Requests
from ottla.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.uuids import ZERO_UUID


def recorded(running: RunningNode) -> list[bytes]:
    topic = running.node.image.topics.by_name("orders")
    assert topic is not None
    return [topic.partitions[index].directories[0] for index in sorted(topic.partitions)]


def actual(running: RunningNode) -> list[bytes | None]:
    replicas = running.node.replicas
    return [replicas.directory_id_of(replicas.partition("orders", index)) for index in range(len(recorded(running)))]


def test_the_records_name_the_directory_of_each_replica_and_follow_a_move(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 4)
        assert len(set(actual(running))) == 2
        await until(lambda: recorded(running) == actual(running))
        partition = running.node.replicas.partition("orders", 0)
        target = next(path for path in (tmp_path / "a", tmp_path / "b") if path != partition.log.directory.parent)
        topic = AlterReplicaLogDirTopic(name="orders", partitions=[0])
        move = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(target), topics=[topic])])
        await requests.client.call(move)
        # For a moment it is out of service.
        await until(lambda: partition.is_leader and partition.log.directory.parent == target)
        await until(lambda: recorded(running) == actual(running))

    run_node(tmp_path / "a", scenario, {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})


def test_a_broker_with_one_directory_has_nothing_to_report(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 2)
        assert recorded(running) == actual(running)
        assert ZERO_UUID not in recorded(running)
        topic = running.node.image.topics.by_name("orders")
        assert topic is not None
        assert {state.partition_epoch for state in topic.partitions.values()} == {0}

    run_node(tmp_path / "a", scenario)
