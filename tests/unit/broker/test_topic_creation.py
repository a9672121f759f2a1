import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from harness.running_node import RunningNode, run_node
from harness.watched_tasks import WatchedTasks
from ottla.broker import topic_creation
from ottla.broker.controller.controller import RequestOrigin
from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.broker.topic_creation import TopicCreation
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.schema import Message

SPEC = InternalTopicSpec("__consumer_offsets", 50, 3, {"cleanup.policy": "compact"})


class SlowController:
    """Answers when it is told to, with the same code for every topic."""

    def __init__(self) -> None:
        self.requests: list[CreateTopicsRequest] = []
        self.is_there = asyncio.Event()
        self.code = ErrorCode.NONE
        self.refusal: ErrorCode | None = None

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        assert origin.api_version == CreateTopicsRequest.VERSIONS.stop - 1
        assert isinstance(request, CreateTopicsRequest)
        self.requests.append(request)
        await self.is_there.wait()
        if self.refusal is not None:
            raise ApiError(self.refusal, "why")
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=self.code, error_message="why")
                for topic in request.topics
            ]
        )

    @property
    def asked_for(self) -> list[list[str]]:
        return [[topic.name for topic in request.topics] for request in self.requests]


def run(scenario: Callable[[TopicCreation, SlowController], Awaitable[None]]) -> None:
    async def play() -> None:
        controller, tasks = SlowController(), WatchedTasks()
        try:
            await scenario(TopicCreation(controller, tasks), controller)
        finally:
            await tasks.cancel_all()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_topic_that_many_need_is_asked_for_once() -> None:
    async def scenario(creation: TopicCreation, controller: SlowController) -> None:
        waiting = [
            asyncio.ensure_future(creation.create_on_demand(names)) for names in (["a"], ["a", "b"], ["b", "a"], ["c"])
        ]
        internal = [asyncio.ensure_future(creation.create_internal(SPEC)) for _ in range(3)]
        await asyncio.sleep(0)
        controller.is_there.set()
        assert await asyncio.gather(*waiting) == [{}] * 4
        await asyncio.gather(*internal)
        assert controller.asked_for == [["a"], ["b"], ["c"], ["__consumer_offsets"]]
        # One that was asked for and not created may be asked for again.
        await creation.create_on_demand(["a"])
        assert controller.asked_for[-1] == ["a"]

    run(scenario)


def test_everybody_hears_why_a_topic_was_refused() -> None:
    async def scenario(creation: TopicCreation, controller: SlowController) -> None:
        controller.code = ErrorCode.INVALID_REPLICATION_FACTOR
        controller.is_there.set()
        refused = await asyncio.gather(*(creation.create_on_demand(["a", "b"]) for _ in range(2)))
        assert refused == [dict.fromkeys(("a", "b"), ErrorCode.INVALID_REPLICATION_FACTOR)] * 2
        with pytest.raises(ApiError, match="why") as raised:
            await creation.create_internal(SPEC)
        assert raised.value.code is ErrorCode.INVALID_REPLICATION_FACTOR

    run(scenario)


def test_a_topic_that_somebody_else_has_created_is_no_error() -> None:
    async def scenario(creation: TopicCreation, controller: SlowController) -> None:
        controller.code = ErrorCode.TOPIC_ALREADY_EXISTS
        controller.is_there.set()
        assert await creation.create_on_demand(["a"]) == {}
        await creation.create_internal(SPEC)

    run(scenario)


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT])
def test_a_controller_that_is_away_makes_no_topic_more_than_unknown(code: ErrorCode) -> None:
    async def scenario(creation: TopicCreation, controller: SlowController) -> None:
        controller.refusal = code
        controller.is_there.set()
        assert await creation.create_on_demand(["a"]) == {}
        with pytest.raises(ApiError) as raised:
            await creation.create_internal(SPEC)
        assert raised.value.code is code

    run(scenario)


def test_nobody_waits_for_long_for_a_controller_to_be_elected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(creation: TopicCreation, controller: SlowController) -> None:
        assert await creation.create_on_demand(["a"]) == {}
        with pytest.raises(ApiError, match="no controller has created it"):
            await creation.create_internal(SPEC)
        # They are created all the same, and only once.
        assert await creation.create_on_demand(["a"]) == {}
        assert controller.asked_for == [["a"], ["__consumer_offsets"]]
        controller.is_there.set()
        await creation.create_internal(SPEC)
        assert len(controller.requests) == 2

    monkeypatch.setattr(topic_creation, "PATIENCE_S", 0.001)
    run(scenario)


def test_internal_topics_have_the_replication_factor_that_is_set_or_do_not_exist(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        for key_type in (0, 1, 0, 1):
            found = await client.call(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["key"]))
            assert found.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert found.coordinators[0].node_id == -1
        missing = MetadataRequestTopic(name="orders")
        (row,) = (await client.call(MetadataRequest(topics=[missing]))).topics
        assert row.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert (await client.call(MetadataRequest(topics=None))).topics == []

    three = dict.fromkeys(
        ("offsets.topic.replication.factor", "transaction.state.log.replication.factor", "default.replication.factor"),
        "3",
    )
    run_node(tmp_path, scenario, three)
    told = [line for line in caplog.messages if "cannot be created" in line]
    assert [line.split(",")[0] for line in told] == ["__consumer_offsets", "__transaction_state"]
