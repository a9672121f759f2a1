"""Topics that come into being: asked for by name, by a client's first use, or by the broker for itself."""

from collections.abc import Sequence

from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.broker.dynamic_configs import DynamicConfigs
from ottla.broker.host import Host
from ottla.broker.quorum import MetadataQuorum
from ottla.config.dynamic_rules import validate_topic_configs
from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC, INTERNAL_TOPICS, check_topic_name
from ottla.metadata.controller.topics import TopicDefaults, create_topics
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from ottla.protocol.messages.create_topics_response import CreatableTopicResult


class TopicCreation:
    """Asks the controller for topics."""

    def __init__(self, quorum: MetadataQuorum, configs: DynamicConfigs, host: Host) -> None:
        self._host = host
        self._quorum = quorum
        self._configs = configs

    async def create(
        self, topics: Sequence[CreatableTopic], *, validate_only: bool = False
    ) -> list[CreatableTopicResult]:
        """A result for each topic, once those that succeeded are there."""

        def decide(image: ClusterImage, now_ms: int) -> Decision[list[CreatableTopicResult]]:
            del now_ms
            config = self._configs.current(image)
            return create_topics(
                image,
                topics,
                defaults=TopicDefaults(config.get_int("num.partitions"), config.get_int("default.replication.factor")),
                check_configs=lambda _topic, topic_configs: validate_topic_configs(topic_configs),
                new_id=self._host.random_uuid,
                pick=self._host.random_below,
                validate_only=validate_only,
            )

        return await self._quorum.submit(decide)

    async def create_on_demand(self, names: Sequence[str]) -> dict[str, ErrorCode]:
        """Creates what a client used without asking; the names that could not be, with the reason."""
        wanted = [
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
            for name in dict.fromkeys(names)
            if name not in INTERNAL_TOPICS and name != CLUSTER_METADATA_TOPIC
        ]
        results = await self.create(wanted)
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
        (result,) = await self.create([topic])
        if result.error_code:
            raise ApiError(ErrorCode(result.error_code), result.error_message or "")

    def missing_topic_error(self, name: str) -> ErrorCode:
        """Why a topic is not there: it could not be, or it just is not."""
        try:
            check_topic_name(name)
        except ApiError as error:
            return error.code
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
