"""Decisions in flight, with a log that is a list."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from ottla.broker.controller.active_controller import RECORDS_PER_BATCH, ActiveController
from ottla.broker.quorum.metadata_log import BatchTooLarge
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message


class Log:
    def __init__(self) -> None:
        self.records: list[Message] = []

    def append(self, records: Sequence[Message]) -> int:
        self.records += records
        return len(self.records) - len(records)


def create_topic(name: str) -> Callable[[ClusterImage], Decision[str]]:
    def decide(image: ClusterImage) -> Decision[str]:
        if image.topics.by_name(name) is not None:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, name)
        return Decision([TopicRecord(name=name, topic_id=name.encode().ljust(16))], name)

    return decide


def test_a_decision_sees_those_before_it_although_they_are_not_durable_yet() -> None:
    controller = ActiveController(ClusterImage(), 1, Log().append)
    assert controller.decide(create_topic("t")) == ("t", 1)
    with pytest.raises(ApiError, match="TOPIC_ALREADY_EXISTS"):
        controller.decide(create_topic("t"))


def test_decisions_find_partitions_by_an_index_that_is_kept() -> None:
    controller = ActiveController(ClusterImage(), 1, Log().append)
    controller.decide(create_topic("t"))
    assert controller.pending.topics._index is not None


def test_records_that_contradict_the_image_never_reach_the_log() -> None:
    log = Log()
    controller = ActiveController(ClusterImage(), 1, log.append)
    twice = [TopicRecord(name="t", topic_id=b"1" * 16), TopicRecord(name="t", topic_id=b"2" * 16)]
    with pytest.raises(ValueError, match="created twice"):
        controller.decide(lambda image: Decision(twice, None))
    assert not log.records
    assert controller.decide(create_topic("t")) == ("t", 1)


def test_a_decision_without_records_waits_for_those_that_it_was_made_on() -> None:
    async def scenario() -> None:
        controller = ActiveController(ClusterImage(), 1, Log().append)
        controller.decide(create_topic("t"))
        _, end_offset = controller.decide(lambda image: Decision([], None))
        waiting = controller.until(end_offset)
        assert not waiting.done()
        controller.committed(1)
        assert waiting.done()

    asyncio.run(scenario())


def test_what_is_not_committed_when_it_ends_fails() -> None:
    async def scenario() -> None:
        controller = ActiveController(ClusterImage(), 1, Log().append)
        ends = [controller.decide(create_topic(name))[1] for name in "ab"]
        first, second = map(controller.until, ends)
        controller.committed(1)
        controller.abandon(ApiError(ErrorCode.NOT_CONTROLLER, "gone"))
        await first
        with pytest.raises(ApiError, match="gone"):
            await second

    asyncio.run(scenario())


def test_only_what_must_be_whole_is_one_batch() -> None:
    batches: list[int] = []
    log = Log()

    def append(records: Sequence[Message]) -> int:
        batches.append(len(records))
        return log.append(records)

    controller = ActiveController(ClusterImage(), 1, append)
    topics = [TopicRecord(name=f"t{i}", topic_id=i.to_bytes(16)) for i in range(RECORDS_PER_BATCH + 5)]
    assert controller.decide(lambda image: Decision(topics, "done", is_atomic=False)) == ("done", len(topics))
    assert batches == [RECORDS_PER_BATCH, 5]
    whole = [RemoveTopicRecord(topic_id=topic.topic_id) for topic in topics]
    controller.decide(lambda image: Decision(whole, None))
    assert batches[2:] == [len(topics)]


def test_only_what_must_be_whole_is_refused_for_its_bytes() -> None:
    batches: list[int] = []

    class SmallLog(Log):
        def append(self, records: Sequence[Message]) -> int:
            if len(records) > 3:
                raise BatchTooLarge(len(records))
            batches.append(len(records))
            return super().append(records)

    log = SmallLog()
    controller = ActiveController(ClusterImage(), 1, log.append)
    topics = [TopicRecord(name=str(i), topic_id=bytes([i]) * 16) for i in range(1, 11)]
    with pytest.raises(ApiError, match="POLICY_VIOLATION"):
        controller.decide(lambda image: Decision(topics, None))
    assert not log.records
    assert controller.decide(lambda image: Decision(topics, None, is_atomic=False)) == (None, 10)
    assert log.records == topics
    assert sum(batches) == 10
    assert controller.decide(create_topic("t")) == ("t", 11)


def test_a_record_that_is_too_large_by_itself_is_refused() -> None:
    def append(records: Sequence[Message]) -> int:
        raise BatchTooLarge(len(records))

    controller = ActiveController(ClusterImage(), 1, append)
    topics = [TopicRecord(name=str(i), topic_id=bytes([i]) * 16) for i in range(1, 11)]
    with pytest.raises(ApiError, match="POLICY_VIOLATION"):
        controller.decide(lambda image: Decision(topics, None, is_atomic=False))
