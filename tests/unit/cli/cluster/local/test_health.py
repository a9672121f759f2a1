from pathlib import Path

from ottla.cli.access.answers import Answer
from ottla.cli.cluster.local.health import ClusterView, NodeAnswers, complaints, judge
from ottla.client.admin.topics import PartitionDescription
from ottla.config.cluster_layout import lay_out

NODES = lay_out(Path("/c"), "127.0.0.1", (9092, 9093), (9192, 9193))
THREE = lay_out(Path("/c"), "127.0.0.1", (9092, 9093, 9094), (9192, 9193, 9194))
WELL = NodeAnswers(Answer.GIVEN, Answer.GIVEN)
FROZEN = NodeAnswers(Answer.SILENCE, Answer.SILENCE)
UNBORN = NodeAnswers(Answer.REFUSAL, Answer.REFUSAL)


def partition(index: int, leader: int, in_sync: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(index, leader, 0, replicas=(1, 2), in_sync=in_sync)


def test_a_node_is_whole_when_it_serves_and_all_its_replicas_are_in_sync() -> None:
    view = ClusterView({1: False, 2: False}, 2, (partition(0, 1, (1, 2)), partition(1, 1, (1,))))
    first, second = judge(NODES, {1: 10, 2: 11}, {1: WELL, 2: WELL}, view)
    assert (first.state, first.is_whole, first.leads, first.is_active_controller) == ("serving", True, 2, False)
    assert (second.state, second.is_whole, second.out_of_sync, second.replicas) == ("serving", False, 1, 2)
    assert second.is_active_controller


def test_a_process_that_is_gone_is_stopped_whatever_the_brokers_still_say() -> None:
    view = ClusterView({1: False, 2: False}, 1, ())
    assert [health.state for health in judge(NODES, {1: 10}, {1: WELL}, view)] == ["serving", "stopped"]


def test_a_node_that_the_controller_does_not_let_serve_is_fenced_or_still_starting() -> None:
    view = ClusterView({2: True}, 2, ())
    assert [health.state for health in judge(NODES, {1: 10, 2: 11}, {1: WELL, 2: WELL}, view)] == ["starting", "fenced"]


def test_without_an_answer_the_processes_are_all_that_is_told() -> None:
    first, second = judge(NODES, {1: 10}, {1: UNBORN}, None)
    assert (first.state, first.pid, first.leads, first.is_whole) == ("starting", 10, None, False)
    assert (second.state, second.pid) == ("stopped", None)


def test_a_survivor_without_a_quorum_is_told_so_and_how_to_start_the_others() -> None:
    found = judge(THREE, {1: 10}, {1: WELL}, None)
    assert [health.state for health in found] == ["no-quorum", "stopped", "stopped"]
    (told,) = complaints(found, " --data c")
    assert str(told).startswith("There is no quorum: 1 of 3 controllers is up, and it takes 2 to elect one.")
    assert told.remedy == "`ottla cluster up --data c` starts the others."
    assert told.code == 5


def test_an_election_that_lasts_is_no_lack_of_controllers() -> None:
    (told,) = complaints(judge(THREE, {1: 10, 2: 11}, {1: WELL, 2: WELL}, None), "")
    assert str(told) == "No controller is elected yet, though 2 of 3 controllers are up"


def test_controllers_that_only_start_are_waited_for() -> None:
    pids = {1: 10, 2: 11, 3: 12}
    (told,) = complaints(judge(THREE, pids, {1: WELL, 2: UNBORN, 3: UNBORN}, None), "")
    assert "1 of 3 controllers is up" in str(told)
    assert told.remedy is not None and told.remedy.startswith("Wait if they are starting")


def test_a_frozen_node_is_silent_whatever_the_brokers_still_say() -> None:
    view = ClusterView({1: False, 2: False}, 1, ())
    found = judge(NODES, {1: 10, 2: 11}, {1: WELL, 2: FROZEN}, view)
    assert [health.state for health in found] == ["serving", "silent"]
    (told,) = complaints(found, "")
    assert str(told) == "Node 2 (pid 11) does not answer; is it frozen?"
    assert told.remedy == "`ottla cluster kill 2 --signal CONT` wakes it, `ottla cluster kill 2` ends it."


def test_frozen_controllers_are_to_be_woken_not_waited_for() -> None:
    found = judge(THREE, {1: 10, 2: 11, 3: 12}, {1: WELL, 2: FROZEN, 3: FROZEN}, None)
    assert [told.remedy for told in complaints(found, "")][2] == "Wake those that do not answer."


def test_a_cluster_that_is_down_or_well_gives_no_reason_to_complain() -> None:
    assert complaints(judge(NODES, {}, {}, None), "") == []
    view = ClusterView({1: False, 2: False}, 1, ())
    assert complaints(judge(NODES, {1: 10, 2: 11}, {1: WELL, 2: WELL}, view), "") == []
