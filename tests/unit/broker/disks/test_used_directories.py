from pathlib import Path

from harness.running_node import RunningNode, run_node
from ottla.broker.disks.node_storage import open_storage
from ottla.broker.disks.used_directories import signs_of_use, voting_directory_id
from ottla.broker.host import Machine
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.storage.file_system import OsFileSystem


def signs(path: Path) -> str | None:
    return signs_of_use(OsFileSystem(path), path)


def test_a_directory_that_is_new_or_only_formatted_is_free(tmp_path: Path) -> None:
    assert signs(tmp_path / "missing") is None
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "backup-2024").mkdir()
    for name in ("app.log", "2023.log", "00000000000000000000.log.bak"):
        (tmp_path / "backup-2024" / name).touch()
    assert signs(tmp_path) is None
    open_storage(BrokerConfig(single_node_defaults(tmp_path, "127.0.0.1:0")), Machine()).release()
    assert signs(tmp_path) is None


def test_a_directory_in_which_a_node_ran_is_used(tmp_path: Path) -> None:
    async def nothing(_running: RunningNode) -> None:
        pass

    async def create(running: RunningNode) -> None:
        topic = CreatableTopic(name="orders", num_partitions=2, replication_factor=1)
        await (await running.connect()).call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))

    run_node(tmp_path, nothing)
    assert signs(tmp_path) == "a metadata log"
    run_node(tmp_path, create)
    assert signs(tmp_path) == "a metadata log and 2 partitions"


def test_the_id_of_a_voter_is_found_in_its_log(tmp_path: Path) -> None:
    storage = open_storage(BrokerConfig(single_node_defaults(tmp_path, "127.0.0.1:0")), Machine())
    storage.release()
    files = OsFileSystem(tmp_path)
    assert voting_directory_id(files, tmp_path, 1) == storage.metadata_directory_id
    assert voting_directory_id(files, tmp_path, 2) is None
