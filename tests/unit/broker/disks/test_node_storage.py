import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.running_node import RunningNode, run_node
from ottla.broker.disks.node_storage import NodeStorage, UnusableStorage, open_storage
from ottla.broker.host import Machine
from ottla.cli.main import main
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest

LISTEN = "127.0.0.1:0"


def config(*paths: Path) -> BrokerConfig:
    return BrokerConfig(single_node_defaults(paths[0], LISTEN) | {"log.dirs": ",".join(map(str, paths))})


def opened(*paths: Path) -> NodeStorage:
    storage = open_storage(config(*paths), Machine())
    storage.release()
    return storage


async def nothing(_running: RunningNode) -> None:
    pass


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A directory in which a node ran."""
    run_node(tmp_path / "used", nothing)
    return tmp_path / "used"


def test_a_used_directory_without_meta_properties_is_refused_with_the_way_out(used: Path) -> None:
    (used / "meta.properties").unlink()
    before = sorted(used.rglob("*"))
    with pytest.raises(UnusableStorage) as caught:
        opened(used)
    assert str(caught.value).startswith(f"No meta.properties in {used}, which holds a metadata log: ")
    assert "ottla storage format --ignore-formatted -t CLUSTER-ID" in str(caught.value)
    assert sorted(used.rglob("*")) == before


def test_the_cluster_is_named_where_another_directory_knows_it(used: Path, tmp_path: Path) -> None:
    cluster_id = opened(used, tmp_path / "second").cluster_id
    (used / "meta.properties").unlink()
    with pytest.raises(UnusableStorage, match=re.escape(f"it is {cluster_id}, as {tmp_path / 'second'} says")):
        opened(used, tmp_path / "second")


def test_a_new_directory_does_not_lead_a_used_one_into_a_new_cluster(used: Path, tmp_path: Path) -> None:
    (used / "meta.properties").unlink()
    with pytest.raises(UnusableStorage, match=re.escape(f"No meta.properties in {used}")):
        opened(tmp_path / "new", used)
    assert not (tmp_path / "new" / "meta.properties").exists()


def test_an_empty_directory_is_taken_into_the_cluster_of_the_others(used: Path, tmp_path: Path) -> None:
    cluster_id = opened(used).cluster_id
    storage = opened(used, tmp_path / "new")
    assert (storage.cluster_id, len(set(storage.directory_ids))) == (cluster_id, 2)


def test_the_metadata_of_another_cluster_are_not_taken_into_this_one(used: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_node(other, nothing)
    (other / "meta.properties").unlink()
    with pytest.raises(UnusableStorage, match=re.escape(f"No meta.properties in {other}, which holds a metadata log")):
        opened(used, other)
    assert not (other / "meta.properties").exists()


def test_a_directory_that_was_formatted_halfway_is_formatted(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "meta.properties").unlink()
    assert opened(tmp_path).was_formatted_now


def test_formatting_gives_a_used_directory_its_identity_back(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = opened(used)
    kept = {path: path.read_bytes() for path in used.rglob("*.checkpoint")}
    (used / "meta.properties").unlink()
    assert main(["storage", "format", "--data", str(used)]) == 2
    assert "say with -t ID to which cluster they belong" in capsys.readouterr().err
    assert main(["storage", "format", "--data", str(used), "-t", before.cluster_id]) == 0
    after = opened(used)
    assert (after.cluster_id, after.metadata_directory_id) == (before.cluster_id, before.metadata_directory_id)
    assert {path: path.read_bytes() for path in used.rglob("*.checkpoint")} == kept
    run_node(used, nothing)


METADATA = "__cluster_metadata-0"


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A directory in which a node ran that has a topic."""

    async def create(running: RunningNode) -> None:
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        await (await running.connect()).call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))

    run_node(tmp_path / "filled", create)
    return tmp_path / "filled"


def lose_directory(path: Path) -> None:
    shutil.rmtree(path)


def lose_files(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def lose_logs_and_snapshots(path: Path) -> None:
    for file in (*path.glob("*.log"), *path.glob("*.checkpoint")):
        file.unlink()


@pytest.mark.parametrize("lose", [lose_directory, lose_files, lose_logs_and_snapshots])
def test_partitions_whose_metadata_is_lost_are_kept_aside_after_the_remedy_that_the_refusal_names(
    lose: Callable[[Path], None], filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster_id = opened(filled).cluster_id
    (filled / "meta.properties").unlink()
    lose(filled / METADATA)
    with pytest.raises(UnusableStorage, match=r"holds 1 partition: .* No metadata log is in .*-stray"):
        opened(filled)
    assert main(["storage", "format", "--data", str(filled), "--ignore-formatted", "-t", cluster_id]) == 0
    assert "-stray" in capsys.readouterr().err
    run_node(filled, nothing)
    assert opened(filled).cluster_id == cluster_id
    assert len(list(filled.glob("orders-0.*-stray/00000000000000000000.log"))) == 1


def test_a_metadata_log_that_nobody_may_vote_with_is_not_formatted(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster_id = opened(filled).cluster_id
    (filled / "meta.properties").unlink()
    for file in (filled / METADATA).glob("*.checkpoint"):
        file.unlink()
    assert main(["storage", "format", "--data", str(filled), "-t", cluster_id]) == 1
    assert "no snapshot (.checkpoint) that names the voters" in capsys.readouterr().err
    assert not (filled / "meta.properties").exists()


def test_metadata_of_which_only_a_snapshot_is_left_goes_on(filled: Path) -> None:
    before = opened(filled)
    first = filled / METADATA / "00000000000000000000-0000000000.checkpoint"
    first.rename(first.with_name("00000000000000000100-0000000003.checkpoint"))
    for file in (filled / METADATA).glob("*.log"):
        file.unlink()
    (filled / "meta.properties").unlink()
    with pytest.raises(UnusableStorage, match="which holds a metadata snapshot and 1 partition: "):
        opened(filled)
    assert main(["storage", "format", "--data", str(filled), "-t", before.cluster_id]) == 0
    assert opened(filled).metadata_directory_id == before.metadata_directory_id
    assert not first.exists()
