from pathlib import Path

import pytest

from ottla.broker.disks.storage_format import (
    FormatRefused,
    check_levels,
    directory_states,
    parse_initial_controllers,
    prepare,
    write,
)
from ottla.config.broker_config import BrokerConfig

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
DIRECTORY_ID = "JEXY6aqzQY-32P5TStzaFg"


def config(tmp_path: Path, disks: int = 1, **settings: str) -> BrokerConfig:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "3",
        "listeners": "PLAINTEXT://127.0.0.1:9092",
        "log.dirs": ",".join(str(tmp_path / f"disk{number}") for number in range(disks)),
    }
    return BrokerConfig(properties | {name.replace("_", "."): value for name, value in settings.items()})


def format_all(node: BrokerConfig, *, cluster_id: str = CLUSTER_ID, ignores_formatted: bool = False) -> int:
    formatting = prepare(node, cluster_id=cluster_id, levels={}, ignores_formatted=ignores_formatted)
    if formatting is None:
        return 0
    for state in formatting.directories:
        write(formatting, state)
    return len(formatting.directories)


def test_every_directory_is_formatted_for_the_cluster(tmp_path: Path) -> None:
    node = config(tmp_path, 2)
    assert [state.problem is None for state in directory_states(node)] == [False, False]
    assert format_all(node) == 2
    states = directory_states(node)
    assert [state.problem for state in states] == [None, None]
    assert {state.properties.cluster_id for state in states if state.properties} == {CLUSTER_ID}
    assert (tmp_path / "disk0" / "bootstrap.checkpoint").exists()
    assert (tmp_path / "disk0" / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint").exists()
    assert not (tmp_path / "disk1" / "bootstrap.checkpoint").exists()


def test_formatted_directories_are_left_alone(tmp_path: Path) -> None:
    format_all(config(tmp_path))
    before = (tmp_path / "disk0" / "meta.properties").read_bytes()
    with pytest.raises(FormatRefused, match="--ignore-formatted"):
        format_all(config(tmp_path, 2))
    assert format_all(config(tmp_path, 2), ignores_formatted=True) == 1
    assert format_all(config(tmp_path, 2), ignores_formatted=True) == 0
    assert (tmp_path / "disk0" / "meta.properties").read_bytes() == before


def test_another_cluster_and_another_node_are_refused(tmp_path: Path) -> None:
    format_all(config(tmp_path))
    with pytest.raises(FormatRefused, match=r"Invalid cluster\.id"):
        format_all(config(tmp_path), cluster_id="another", ignores_formatted=True)
    with pytest.raises(FormatRefused, match=r"Invalid node\.id"):
        format_all(config(tmp_path, node_id="4"), ignores_formatted=True)


def test_a_fixed_quorum_has_no_first_snapshot(tmp_path: Path) -> None:
    node = config(
        tmp_path, controller_quorum_voters="3@127.0.0.1:9093", listeners="PLAINTEXT://:9092,CONTROLLER://:9093"
    )
    format_all(node)
    assert not (tmp_path / "disk0" / "__cluster_metadata-0").exists()
    with pytest.raises(FormatRefused, match=r"controller\.quorum\.voters"):
        prepare(node, cluster_id=CLUSTER_ID, levels={}, ignores_formatted=True, standalone=True)


def test_initial_controllers_name_this_node_and_its_directory(tmp_path: Path) -> None:
    node = config(tmp_path)
    formatting = prepare(
        node,
        cluster_id=CLUSTER_ID,
        levels={},
        ignores_formatted=False,
        initial_controllers=f"3@[::1]:9093:{DIRECTORY_ID},4@b:9093:{DIRECTORY_ID}",
    )
    assert formatting is not None
    write(formatting, formatting.directories[0])
    assert f"directory.id={DIRECTORY_ID}" in (tmp_path / "disk0" / "meta.properties").read_text()
    other = config(tmp_path / "other")
    for text, reason in ((f"4@b:9093:{DIRECTORY_ID}", "does not name this node"), ("3@b", "ID@HOST:PORT")):
        with pytest.raises(FormatRefused, match=reason):
            prepare(other, cluster_id=CLUSTER_ID, levels={}, ignores_formatted=False, initial_controllers=text)
    assert parse_initial_controllers(f"3@[::1]:9093:{DIRECTORY_ID}", node).voters[0].endpoints[0].host == "::1"


def test_levels_that_are_not_served_are_refused() -> None:
    assert check_levels({"metadata.version": 25})["metadata.version"] == 25
    assert check_levels({"kraft.version": 1}) == check_levels({})
    elr = "eligible.leader.replicas.version"
    assert [check_levels({"metadata.version": level})[elr] for level in (25, 26)] == [0, 1]
    assert check_levels({"metadata.version": 23, elr: 1})[elr] == 1
    for levels in ({"bogus": 1}, {"metadata.version": 31}, {"group.version": 9}, {"metadata.version": 22, elr: 1}):
        with pytest.raises(FormatRefused):
            check_levels(levels)
