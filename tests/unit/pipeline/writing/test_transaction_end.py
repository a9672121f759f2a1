import pytest

from ottla.client.errors import CommitInDoubt, FatalProducerError
from ottla.pipeline.writing.transaction_end import CALLS_MAX, until_answered
from ottla.protocol.errors import ErrorCode


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
    until_answered(end, CommitInDoubt)
    assert end.calls == 3


def test_what_is_never_answered_stays_in_doubt() -> None:
    end = Answers(lost=CALLS_MAX)
    with pytest.raises(CommitInDoubt, match=f"call {CALLS_MAX} "):
        until_answered(end, CommitInDoubt)


def test_a_refusal_is_no_doubt() -> None:
    def refuse() -> None:
        raise FatalProducerError(ErrorCode.PRODUCER_FENCED)

    with pytest.raises(FatalProducerError):
        until_answered(refuse, CommitInDoubt)
