from pathlib import Path

from ottla.cli.cluster.local.health import ClusterView, judge
from ottla.client.admin.topics import PartitionDescription
from ottla.config.cluster_layout import lay_out

NODES = lay_out(Path("/c"), "127.0.0.1", (9092, 9093), (9192, 9193))


def partition(index: int, leader: int, in_sync: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(index, leader, 0, replicas=(1, 2), in_sync=in_sync)


def test_a_node_is_whole_when_it_serves_and_all_its_replicas_are_in_sync() -> None:
    view = ClusterView({1: False, 2: False}, 2, (partition(0, 1, (1, 2)), partition(1, 1, (1,))))
    first, second = judge(NODES, {1: 10, 2: 11}, view)
    assert (first.state, first.is_whole, first.leads, first.is_active_controller) == ("serving", True, 2, False)
    assert (second.state, second.is_whole, second.out_of_sync, second.replicas) == ("serving", False, 1, 2)
    assert second.is_active_controller


def test_a_process_that_is_gone_is_stopped_whatever_the_brokers_still_say() -> None:
    view = ClusterView({1: False, 2: False}, 1, ())
    assert [health.state for health in judge(NODES, {1: 10}, view)] == ["serving", "stopped"]


def test_a_node_that_the_controller_does_not_let_serve_is_fenced_or_still_starting() -> None:
    view = ClusterView({2: True}, 2, ())
    assert [health.state for health in judge(NODES, {1: 10, 2: 11}, view)] == ["starting", "fenced"]


def test_without_an_answer_the_processes_are_all_that_is_told() -> None:
    first, second = judge(NODES, {1: 10}, None)
    assert (first.state, first.pid, first.leads, first.is_whole) == ("starting", 10, None, False)
    assert (second.state, second.pid) == ("stopped", None)
