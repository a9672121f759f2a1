import pytest

from ottla.client.errors import KafkaError, RequestTimedOut
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

TARGET = TopicPartition("t", 3)
TOO_LARGE = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
LOST = RequestTimedOut("nobody answers")
FENCED = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
OUT_OF_ORDER = KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def explanation(error: Exception, target: TopicPartition | None, transactional_id: str | None) -> str:
    with pytest.raises(PipelineError) as refusal, explained_refusals(target, transactional_id):
        raise error
    return str(refusal.value)


@pytest.mark.parametrize("transactional_id", [None, "x"])
def test_what_any_writer_is_refused_is_told_with_the_place_and_the_remedy(transactional_id: str | None) -> None:
    assert explanation(TOO_LARGE, TARGET, transactional_id).startswith("writing to t-3 was refused: a batch is larger")
    assert explanation(LOST, TARGET, transactional_id) == "writing to t-3 failed: nobody answers"
    assert explanation(LOST, None, transactional_id) == "writing failed: nobody answers"


def test_what_a_transaction_is_refused_is_told_with_its_id() -> None:
    assert "another driver has taken over the transactional id x" in explanation(FENCED, TARGET, "x")
    assert "ottla.pipeline.partitioned" in explanation(OUT_OF_ORDER, TARGET, "x")


@pytest.mark.parametrize("error", [FENCED, OUT_OF_ORDER])
def test_who_writes_alone_is_told_nothing_of_transactions(error: KafkaError) -> None:
    assert explanation(error, TARGET, None) == f"writing to t-3 failed: {error}"


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), explained_refusals(TARGET, None):
        raise ZeroDivisionError
