import pytest

from ottla.client import KafkaError, TopicPartition
from ottla.client.admin.producers import ActiveProducer, PartitionProducers
from ottla.client.errors import CommitInDoubt, FatalProducerError
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.partition_writer import Written
from ottla.pipeline.writing.transaction import END_CALLS_MAX, check_disjoint, check_untouched, repeat_until_answered
from ottla.protocol.errors import ErrorCode

TARGET = TopicPartition("t", 0)
OWN = ProducerIdentity(7, 3)


def producers(*found: ActiveProducer) -> PartitionProducers:
    return PartitionProducers(found)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (producers(), 0),
        (producers(ActiveProducer(8, 3, 100, 0, -1, 5)), 0),
        (producers(ActiveProducer(7, 2, 100, 0, -1, -1)), 0),
        (producers(ActiveProducer(7, 3, -1, 0, 4, -1)), 0),
        (producers(ActiveProducer(7, 3, 99, 0, 4, -1)), 100),
        (producers(ActiveProducer(7, 3, 2**31 - 1, 0, 4, -1)), 0),
    ],
    ids=["nobody", "another", "earlier epoch", "after a marker", "older protocol", "sequences that wrap"],
)
def test_a_partition_as_the_driver_knows_it_may_be_written_to(found: PartitionProducers, expected: int) -> None:
    check_untouched(TARGET, found, OWN, expected)


@pytest.mark.parametrize("expected", [0, 100])
def test_a_partition_that_another_attempt_has_written_to_is_refused(expected: int) -> None:
    with pytest.raises(PipelineError, match="another attempt of this one, has written to t-0"):
        check_untouched(TARGET, producers(ActiveProducer(7, 3, 9, 0, -1, 5)), OWN, expected)


def test_a_partition_that_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(KafkaError):
        check_untouched(TARGET, PartitionProducers(error=KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)), OWN, 0)


def written(*targets: TopicPartition) -> list[Written]:
    return [Written(target, 1, 1, 100) for target in targets]


def test_tasks_with_partitions_of_their_own_may_be_committed() -> None:
    check_disjoint(written(TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)))


def test_two_tasks_on_one_partition_are_refused() -> None:
    targets = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 1), TopicPartition("b", 0)]
    with pytest.raises(PipelineError, match=r"two tasks wrote to b-1 in .*ottla\.pipeline\.partitioned"):
        check_disjoint(written(*targets))


class Answers:
    """A commit that gets lost so many times."""

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.calls <= self.lost:
            raise CommitInDoubt(f"call {self.calls} was not answered")


def test_a_lost_answer_is_asked_for_again() -> None:
    end = Answers(lost=2)
    repeat_until_answered(end, CommitInDoubt)
    assert end.calls == 3


def test_what_is_never_answered_stays_in_doubt() -> None:
    end = Answers(lost=END_CALLS_MAX)
    with pytest.raises(CommitInDoubt, match=f"call {END_CALLS_MAX} "):
        repeat_until_answered(end, CommitInDoubt)


def test_a_refusal_is_no_doubt() -> None:
    def refuse() -> None:
        raise FatalProducerError(ErrorCode.PRODUCER_FENCED)

    with pytest.raises(FatalProducerError):
        repeat_until_answered(refuse, CommitInDoubt)
