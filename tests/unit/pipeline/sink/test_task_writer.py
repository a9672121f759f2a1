import pytest

from ottla.client.metadata import TopicPartition
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.partition_writer import Written
from ottla.pipeline.sink.task_writer import check_disjoint


def written(*targets: TopicPartition) -> list[Written]:
    return [Written(target, 1, 1, 100) for target in targets]


def test_tasks_with_partitions_of_their_own_may_be_committed() -> None:
    check_disjoint(written(TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)))


def test_two_tasks_on_one_partition_are_refused() -> None:
    targets = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 1), TopicPartition("b", 0)]
    with pytest.raises(PipelineError, match=r"two tasks wrote to b-1 in .*ottla\.pipeline\.partitioned"):
        check_disjoint(written(*targets))
