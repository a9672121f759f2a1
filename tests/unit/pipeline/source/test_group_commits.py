"""When a stream's progress is committed; the coordinator's answers are made by hand."""

from typing import TYPE_CHECKING, cast

import pytest

from harness.waiting import eventually
from ottla.client.errors import KafkaError, RequestTimedOut
from ottla.pipeline.source.group_commits import AGAIN_AFTER_S, GroupCommits
from ottla.pipeline.source.offsets import Offsets
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.pipeline.source.cluster_view import ClusterView

T0 = TopicPartition("t", 0)
AWAY = RequestTimedOut("the coordinator is away")
REFUSED = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


class Coordinator:
    """Answers as it is told, and well when it was told nothing more."""

    def __init__(self, *answers: Exception) -> None:
        self.answers = list(answers)
        self.commits: list[Offsets] = []
        self.now_s = 100.0

    def commit(self, _group_id: str, offsets: Offsets) -> dict[TopicPartition, Exception | None]:
        self.commits.append(offsets)
        answer = self.answers.pop(0) if self.answers else None
        if answer is AWAY:
            raise answer
        return dict.fromkeys(offsets, answer)

    def publisher(self) -> GroupCommits:
        return GroupCommits(cast("ClusterView", self), "g", lambda: self.now_s)


def test_what_is_committed_is_not_committed_again() -> None:
    coordinator = Coordinator()
    commits = coordinator.publisher()
    for offset in (5, 5, 5, 6):
        commits.publish({T0: offset}, waits=True)
    assert coordinator.commits == [{T0: 5}, {T0: 6}]


@pytest.mark.parametrize("failure", [AWAY, REFUSED])
def test_a_commit_that_failed_is_tried_again_though_nothing_new_came(failure: Exception) -> None:
    coordinator = Coordinator(failure)
    commits = coordinator.publisher()
    for _ in range(3):
        commits.publish({T0: 5}, waits=True)
    assert coordinator.commits == [{T0: 5}] * 2


def test_a_stream_that_goes_on_tries_again_after_a_while_only() -> None:
    coordinator = Coordinator(AWAY)
    commits = coordinator.publisher()
    commits.publish({T0: 5}, waits=True)
    commits.publish({T0: 5}, waits=False)
    commits.publish({T0: 6}, waits=False)
    assert coordinator.commits == [{T0: 5}]
    coordinator.now_s += AGAIN_AFTER_S
    commits.publish({T0: 6}, waits=False)
    eventually(lambda: coordinator.commits, lambda found: found == [{T0: 5}, {T0: 6}])
