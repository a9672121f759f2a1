"""The topics that rows go to, looked up one by one when a row first names them.

A topic that does not exist is created by the brokers if they may (`auto.create.topics.enable`), as for any producer.
"""

from ottla.client.admin.configs import ConfigResource, ResourceType
from ottla.client.errors import ClientError, KafkaError
from ottla.client.sync import Client
from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.errors import PipelineError
from ottla.protocol.errors import ErrorCode

_AUTO_CREATE = "auto.create.topics.enable"
# The broker that is asked may not know a topic that was just created.
_NEWS_MS = 3_000


class TargetTopics:
    """How many partitions each topic has."""

    def __init__(self, client: Client, options: AppendOptions) -> None:
        self._client = client
        self._options = options

    def partition_count(self, topic: str, *, is_fresh: bool = False) -> int:
        """As the client knows it (`kafka.metadata.max.age.ms`); PipelineError if the topic cannot be written to."""
        try:
            return self._client.partition_count(topic, is_fresh=is_fresh)
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return self._awaited(topic)
            raise self._refused(topic, error) from error
        except ClientError as error:
            raise self._refused(topic, error) from error

    def _awaited(self, topic: str) -> int:
        options = self._options
        may_appear = options.creates_topics and self._broker_creates()
        wait_ms = options.max_block_ms if may_appear else min(_NEWS_MS, options.max_block_ms)
        try:
            return self._client.partition_count(topic, auto_create=options.creates_topics, timeout_ms=wait_ms)
        except ClientError as error:
            if may_appear:
                raise self._refused(topic, error) from error
            bootstrap = options.cluster.bootstrap
            raise PipelineError(
                f"topic {topic} does not exist at {bootstrap}, and is not created by itself ({_AUTO_CREATE}): "
                f"ottla -b {bootstrap} topics create {topic} --partitions 6"
            ) from error

    def _broker_creates(self) -> bool:
        """Whether the brokers create topics; True if they do not say."""
        try:
            node_id = self._client.admin.describe_cluster().brokers[0].node_id
            broker = ConfigResource(ResourceType.BROKER, str(node_id))
            entry = self._client.admin.describe_configs([broker], names=[_AUTO_CREATE])[broker].entries.get(
                _AUTO_CREATE
            )
        except ClientError:
            return True
        return entry is None or entry.value != "false"

    def _refused(self, topic: str, error: ClientError) -> PipelineError:
        return PipelineError(f"topic {topic} cannot be written to at {self._options.cluster.bootstrap}: {error}")
