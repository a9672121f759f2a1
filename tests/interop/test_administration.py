"""Topics and their settings, administered by each client that can."""

from collections.abc import Callable

import pytest

from harness.clients.catalogue import clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Feature, Record
from harness.waiting import eventually


@clients_with(Feature.TOPIC_ADMIN)
def test_a_topic_is_created_listed_and_deleted(
    client: Client, reference: ConfluentKafka, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name()
    client.create_topic(topic, 3, {"retention.ms": "3600000"})
    eventually(client.topics, lambda topics: topics.get(topic) == 3)
    assert reference.topic_config(topic, "retention.ms") == "3600000"
    reference.produce(topic, [Record(b"kept until deleted")], partition=2)
    client.delete_topic(topic)
    eventually(client.topics, lambda topics: topic not in topics)


@clients_with(Feature.TOPIC_ADMIN)
def test_a_topic_that_exists_is_not_created_again(client: Client, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    client.create_topic(topic, 1, {})
    with pytest.raises(Exception, match=r"(?i)already.?exists|36"):
        client.create_topic(topic, 1, {})


@clients_with(Feature.PARTITION_ADMIN)
def test_a_topic_grows_by_partitions(client: Client, reference: ConfluentKafka, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    client.create_topic(topic, 1, {})
    client.add_partitions(topic, 3)
    eventually(client.topics, lambda topics: topics.get(topic) == 3)
    reference.produce(topic, [Record(b"in the new partition")], partition=2)
    assert client.read(topic, 2, 0, 1)[0].record.value == b"in the new partition"


@clients_with(Feature.CONFIG_ADMIN)
def test_a_topic_setting_is_read_and_changed(
    client: Client, reference: ConfluentKafka, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name()
    client.create_topic(topic, 1, {})
    assert client.topic_config(topic, "cleanup.policy") == "delete"
    client.set_topic_config(topic, "cleanup.policy", "compact")
    eventually(lambda: client.topic_config(topic, "cleanup.policy"), lambda value: value == "compact")
    assert reference.topic_config(topic, "cleanup.policy") == "compact"
