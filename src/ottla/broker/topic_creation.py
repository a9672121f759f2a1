"""Creates topics that a client uses for the first time, or that the broker needs for itself."""

from collections.abc import Sequence

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC, INTERNAL_TOPICS, check_topic_name
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse


class TopicCreation:
    """Asks the controller for topics without a CreateTopics request of a client."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def _create(self, topics: Sequence[CreatableTopic]) -> Sequence[CreatableTopicResult]:
        """A result for each topic, once those that were created exist."""
        request = CreateTopicsRequest(topics=topics)
        response = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(response, CreateTopicsResponse)
        return response.topics

    async def create_on_demand(self, names: Sequence[str]) -> dict[str, ErrorCode]:
        """Creates topics on first use; returns the names that could not be created, with the reason."""
        wanted = [
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
            for name in dict.fromkeys(names)
            if name not in INTERNAL_TOPICS and name != CLUSTER_METADATA_TOPIC
        ]
        results = await self._create(wanted)
        expected = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        return {row.name: ErrorCode(row.error_code) for row in results if row.error_code not in expected}

    async def create_internal(self, spec: InternalTopicSpec) -> None:
        """Creates a topic that the broker itself needs; ApiError if that is refused."""
        topic = CreatableTopic(
            name=spec.name,
            num_partitions=spec.partition_count,
            replication_factor=spec.replication_factor,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in spec.configs.items()],
        )
        (result,) = await self._create([topic])
        if result.error_code:
            raise ApiError(ErrorCode(result.error_code), result.error_message or "")

    def missing_topic_error(self, name: str) -> ErrorCode:
        """Why a topic does not exist: its name is invalid, or nobody has created it."""
        try:
            check_topic_name(name)
        except ApiError as error:
            return error.code
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
