"""Creates topics that a client uses for the first time, or that the broker needs for itself.

Guarantees
- A topic that is being created is not asked for again: whoever needs it meanwhile shares the outcome. A thousand
  clients that start together are one request to the controller.
- Nobody waits longer than PATIENCE_S for the controller, which may have to be elected first. The creation goes on
  without them: clients hear that the topic does not exist yet, or its coordinator, and ask again.

The controller decides about partitions and replicas where nothing is said here. Nothing survives a crash.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC, INTERNAL_TOPICS, check_topic_name
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse

PATIENCE_S: Final = 5.0

_EXPECTED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


class TopicCreation:
    """Asks the controller for topics without a CreateTopics request of a client."""

    def __init__(self, controller: Controller, tasks: Tasks) -> None:
        self._controller = controller
        self._tasks = tasks
        self._creating: dict[str, asyncio.Task[Sequence[CreatableTopicResult]]] = {}

    async def create_on_demand(self, names: Sequence[str]) -> dict[str, ErrorCode]:
        """Creates topics on first use; returns the names that the controller refused to create, with the reason."""
        wanted = [
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
            for name in dict.fromkeys(names)
            if name not in INTERNAL_TOPICS and name != CLUSTER_METADATA_TOPIC
        ]
        refused = {row.name: code_of(row.error_code) for row in await self._create(wanted)}
        # Where the controller is away for a moment, the topic is as unknown to the client as before.
        return {name: code for name, code in refused.items() if code not in _EXPECTED and not code.is_retriable}

    async def create_internal(self, spec: InternalTopicSpec) -> None:
        """Creates a topic that the broker itself needs; ApiError if that is refused, or takes too long."""
        topic = CreatableTopic(
            name=spec.name,
            num_partitions=spec.partition_count,
            replication_factor=spec.replication_factor,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in spec.configs.items()],
        )
        results = await self._create([topic])
        if not results:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"no controller has created it within {PATIENCE_S:g} s")
        if results[0].error_code not in _EXPECTED:
            raise ApiError(code_of(results[0].error_code), results[0].error_message or "")

    def missing_topic_error(self, name: str) -> ErrorCode:
        """Why a topic does not exist: its name is invalid, or nobody has created it."""
        try:
            check_topic_name(name)
        except ApiError as error:
            return error.code
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    async def _create(self, topics: Sequence[CreatableTopic]) -> list[CreatableTopicResult]:
        """The results that are known in time, once the topics that were created exist."""
        fresh = [topic for topic in topics if topic.name not in self._creating]
        if fresh:
            self._begin(fresh)
        creations = dict.fromkeys(self._creating[topic.name] for topic in topics)
        if creations:
            await asyncio.wait(creations, timeout=PATIENCE_S)
        names = {topic.name for topic in topics}
        return [
            row
            for creation in creations
            if creation.done() and not creation.cancelled()
            for row in creation.result()
            if row.name in names
        ]

    def _begin(self, topics: Sequence[CreatableTopic]) -> None:
        creation = self._tasks.start(self._ask(topics))
        self._creating |= dict.fromkeys((topic.name for topic in topics), creation)
        creation.add_done_callback(lambda _: self._ended(topics))

    def _ended(self, topics: Sequence[CreatableTopic]) -> None:
        for topic in topics:
            del self._creating[topic.name]

    async def _ask(self, topics: Sequence[CreatableTopic]) -> Sequence[CreatableTopicResult]:
        request = CreateTopicsRequest(topics=topics)
        try:
            response = await self._controller.handle(OwnRequest.of(request), request)
        except ApiError as error:
            return [
                CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
                for topic in topics
            ]
        assert isinstance(response, CreateTopicsResponse)
        return response.topics
