"""Log directories that get no new partitions."""

from pathlib import Path
from typing import Any

from harness.running_node import RunningNode, run_node
from harness.waiting import eventually_async
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)


async def create(client: Any, name: str, partitions: int = 1) -> ErrorCode:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    (made,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))).topics
    return ErrorCode(made.error_code)


async def cordon(running: RunningNode, client: Any, value: str) -> None:
    """Sets the directories, and waits until the controller knows."""
    entry = AlterableConfig(name="cordoned.log.dirs", config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[entry])
    (answer,) = (await client.call(IncrementalAlterConfigsRequest(resources=[resource]))).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    await registered(running, len(await described(client, is_cordoned=True)))


async def registered(running: RunningNode, count: int) -> None:
    """The registration follows in the background."""
    node: Any = running.node

    async def known() -> tuple[bytes, ...]:
        return node.broker._metadata.image.brokers.get(1).cordoned_log_dirs or ()

    await eventually_async(known, lambda found: len(found) == count)


async def described(client: Any, *, is_cordoned: bool) -> dict[str, int]:
    """How many partitions are in each directory that is cordoned, or is not."""
    rows = (await client.call(DescribeLogDirsRequest(topics=None))).results
    return {
        row.log_dir: sum(len(topic.partitions) for topic in row.topics)
        for row in rows
        if row.is_cordoned is is_cordoned
    }


async def move(client: Any, topic: str, path: str) -> ErrorCode:
    wanted = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
    answer = await client.call(AlterReplicaLogDirsRequest(dirs=[wanted]))
    return ErrorCode(answer.results[0].partitions[0].error_code)


def test_a_cordoned_directory_gets_nothing_new_until_it_is_open_again(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a"), str(tmp_path / "b")

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await cordon(running, client, first)
        assert await create(client, "t", 4) is ErrorCode.NONE
        assert await described(client, is_cordoned=True) == {first: 0}
        assert await described(client, is_cordoned=False) == {second: 4}
        assert await move(client, "t", first) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        await cordon(running, client, "")
        assert await create(client, "u", 4) is ErrorCode.NONE
        assert await described(client, is_cordoned=False) == {first: 4, second: 4}

    run_node(tmp_path, scenario, {"log.dirs": f"{first},{second}"})


def test_with_all_directories_cordoned_nothing_can_be_created(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        assert await create(client, "t") is ErrorCode.NONE
        await cordon(running, client, "*")
        assert await create(client, "u") is ErrorCode.INVALID_REPLICATION_FACTOR
        more = CreatePartitionsTopic(name="t", count=2, assignments=None)
        answer = await client.call(CreatePartitionsRequest(topics=[more], timeout_ms=5000))
        assert answer.results[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR

    run_node(tmp_path, scenario)


def test_a_directory_that_the_file_cordons_is_so_from_the_start(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        assert list(await described(client, is_cordoned=True)) == [str(tmp_path / "b")]
        assert await create(client, "t", 2) is ErrorCode.NONE
        assert await described(client, is_cordoned=False) == {str(tmp_path / "a"): 2}
        await registered(running, 1)

    settings = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}", "cordoned.log.dirs": str(tmp_path / "b")}
    run_node(tmp_path, scenario, settings)
