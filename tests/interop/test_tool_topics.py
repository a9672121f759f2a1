"""kafka-topics, kafka-configs, kafka-get-offsets and kafka-delete-records."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.clients.java_client import JavaClient
from harness.waiting import eventually

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"

NOW_MS = 1_700_000_000_000

Tool = Callable[..., str]


def test_kafka_topics_creates_describes_alters_and_deletes(tool: Tool, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    create = ("--create", "--topic", topic, "--partitions", "2", "--config", "segment.bytes=1048576")
    assert f"Created topic {topic}." in tool(TOPICS, *create)
    eventually(lambda: topic in tool(TOPICS, "--list").split())

    described = tool(TOPICS, "--describe", "--topic", topic)
    assert "PartitionCount: 2\tReplicationFactor: 1" in described
    assert "segment.bytes=1048576" in described
    assert re.search(r"TopicId: [\w-]{22}\t", described)
    assert len(re.findall(r"Partition: \d\tLeader: (\d+)\tReplicas: \1\tIsr: \1\t", described)) == 2

    tool(TOPICS, "--alter", "--topic", topic, "--partitions", "5")
    eventually(lambda: "PartitionCount: 5" in tool(TOPICS, "--describe", "--topic", topic))

    tool(TOPICS, "--delete", "--topic", topic)
    eventually(lambda: topic not in tool(TOPICS, "--list").split())


def test_kafka_topics_lists_nothing_that_is_under_replicated(tool: Tool, new_topic: Callable[..., str]) -> None:
    new_topic()
    assert tool(TOPICS, "--describe", "--under-replicated-partitions") == ""
    assert tool(TOPICS, "--describe", "--unavailable-partitions") == ""


def test_kafka_topics_says_why_a_topic_cannot_be_created(java: JavaClient, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    def complaint(*arguments: str) -> str:
        printed = java.tool(TOPICS, "--bootstrap-server", java.bootstrap, "--create", *arguments)
        assert printed.code == 1
        return printed.out + printed.err

    assert "TopicExistsException" in complaint("--topic", topic)
    assert "InvalidReplicationFactorException" in complaint("--topic", f"{topic}-x", "--replication-factor", "3")
    assert "InvalidTopicException" in complaint("--topic", "a topic/with bad characters")
    assert "InvalidConfigurationException" in complaint("--topic", f"{topic}-x", "--config", "no.such.setting=1")
    too_low = complaint("--topic", f"{topic}-x", "--config", "min.cleanable.dirty.ratio=7")
    assert "min.cleanable.dirty.ratio" in too_low


def test_kafka_topics_refuses_a_name_that_collides_in_metrics(
    java: JavaClient, tool: Tool, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name().replace("-", ".")
    tool(TOPICS, "--create", "--topic", topic)
    printed = java.tool(TOPICS, "--bootstrap-server", java.bootstrap, "--create", "--topic", topic.replace(".", "_"))
    assert printed.code == 1
    assert "InvalidTopicException" in printed.err


def test_kafka_configs_changes_a_topic(tool: Tool, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    entity = ("--entity-type", "topics", "--entity-name", topic)

    def settings() -> str:
        return tool(CONFIGS, "--describe", *entity)

    tool(CONFIGS, "--alter", *entity, "--add-config", "retention.ms=86400000,cleanup.policy=[compact,delete]")
    eventually(settings, lambda text: "cleanup.policy=compact,delete sensitive=false" in text)
    assert "retention.ms=86400000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=86400000" in settings()
    tool(CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    eventually(settings, lambda text: "retention.ms" not in text)


def test_kafka_configs_shows_every_topic_setting_with_its_source(tool: Tool, new_topic: Callable[..., str]) -> None:
    described = tool(CONFIGS, "--describe", "--all", "--entity-type", "topics", "--entity-name", new_topic())
    assert "  delete.retention.ms=86400000 sensitive=false" in described
    assert "  max.message.bytes=1048588 sensitive=false" in described
    assert "{DEFAULT_CONFIG:log.segment.bytes=1073741824}" in described


def test_kafka_configs_changes_brokers_by_default_and_one_by_one(tool: Tool, reference: ConfluentKafka) -> None:
    node = next(iter(reference.brokers()))
    default = ("--entity-type", "brokers", "--entity-default")
    one = ("--entity-type", "brokers", "--entity-name", str(node))
    tool(CONFIGS, "--alter", *default, "--add-config", "log.cleaner.backoff.ms=16000")
    tool(CONFIGS, "--alter", *one, "--add-config", "log.cleaner.backoff.ms=17000")
    name = "log.cleaner.backoff.ms"
    both = f"{{DYNAMIC_BROKER_CONFIG:{name}=17000, DYNAMIC_DEFAULT_BROKER_CONFIG:{name}=16000"
    try:
        eventually(lambda: tool(CONFIGS, "--describe", *one), lambda text: both in text)
        assert "log.cleaner.backoff.ms=16000" in tool(CONFIGS, "--describe", *default)
    finally:
        for entity in (default, one):
            tool(CONFIGS, "--alter", *entity, "--delete-config", "log.cleaner.backoff.ms")
    eventually(lambda: tool(CONFIGS, "--describe", *one), lambda text: "log.cleaner.backoff.ms" not in text)


def test_kafka_configs_shows_and_changes_loggers(tool: Tool, reference: ConfluentKafka) -> None:
    entity = ("--entity-type", "broker-loggers", "--entity-name", str(next(iter(reference.brokers()))))
    described = tool(CONFIGS, "--describe", *entity)
    assert re.search(r"^  root=[A-Z]+ sensitive=false", described, re.MULTILINE)


def test_kafka_configs_refuses_what_cannot_change_at_run_time(java: JavaClient, reference: ConfluentKafka) -> None:
    node = str(next(iter(reference.brokers())))
    change = ("--alter", "--entity-type", "brokers", "--entity-name", node, "--add-config", "log.dirs=/elsewhere")
    printed = java.tool(CONFIGS, "--bootstrap-server", java.bootstrap, *change)
    assert printed.code == 1
    assert "log.dirs" in printed.err


@pytest.mark.parametrize(
    ("time", "offset"), [("latest", 10), ("earliest", 0), ("max-timestamp", 9), (str(NOW_MS + 3), 3)]
)
def test_kafka_get_offsets_finds_places(
    tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str], time: str, offset: int
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"x", timestamp_ms=NOW_MS + n) for n in range(10)])
    assert tool(OFFSETS, "--topic", topic, "--time", time).strip() == f"{topic}:0:{offset}"


def test_kafka_delete_records_moves_the_start_of_the_log(
    tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"x") for _ in range(10)])
    request = tmp_path / "delete.json"
    request.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 4}]}))
    assert f"partition: {topic}-0\tlow_watermark: 4" in tool(DELETE_RECORDS, "--offset-json-file", str(request))
    assert tool(OFFSETS, "--topic", topic, "--time", "earliest").strip() == f"{topic}:0:4"

    request.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 11}]}))
    refused = tool(DELETE_RECORDS, "--offset-json-file", str(request))
    assert "OffsetOutOfRangeException" in refused
