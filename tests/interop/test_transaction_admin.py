"""What the admin clients of Java and kafka-python say of transactions, and do to them; librdkafka has no such calls."""

from collections.abc import Callable

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import FENCED, Client, Record
from harness.clients.java_client import JavaClient
from harness.clients.kafka_python import KafkaPython
from harness.transactions import NewProducer, NewTopic, values
from harness.waiting import eventually


def listed(java: JavaClient, transactional_id: str, **filters: object) -> dict[str, object]:
    everything = {"states": [], "producer_ids": [], "duration_ms": -1, "pattern": None}
    found = java.agent.call("list_transactions", **(everything | filters))
    return {name: listing for name, listing in found.items() if name == transactional_id}


def test_states_are_listed_and_described(
    java: JavaClient, open_producer: NewProducer, new_topic: NewTopic, fresh_name: Callable[[], str]
) -> None:
    topic, name = new_topic(2), fresh_name()
    producer = open_producer(java, name, timeout_ms=45_000)
    described = java.agent.call("describe_transaction", transactional_id=name)
    producer_id = described["producer_id"]
    assert described == {
        "state": "Empty",
        "producer_id": producer_id,
        "producer_epoch": 0,
        "timeout_ms": 45_000,
        "is_started": False,
        "partitions": [],
    }
    producer.begin()
    producer.send(topic, 1, b"x")
    producer.send(topic, 0, b"x")
    described = java.agent.call("describe_transaction", transactional_id=name)
    assert described["state"] == "Ongoing"
    assert described["is_started"]
    assert described["partitions"] == [f"{topic}-0", f"{topic}-1"]

    ongoing = {name: {"producer_id": producer_id, "state": "Ongoing"}}
    assert listed(java, name) == ongoing
    assert listed(java, name, states=["Ongoing"]) == ongoing
    assert listed(java, name, states=["CompleteCommit", "Empty"]) == {}
    assert listed(java, name, producer_ids=[producer_id]) == ongoing
    assert listed(java, name, producer_ids=[producer_id + 1_000_000]) == {}
    assert listed(java, name, duration_ms=0) == ongoing
    assert listed(java, name, duration_ms=3_600_000) == {}
    assert listed(java, name, pattern=".*states-are-listed.*") == ongoing
    assert listed(java, name, pattern="nothing-.*") == {}

    producer.commit()
    complete = {name: {"producer_id": producer_id, "state": "CompleteCommit"}}
    eventually_listed = wait_for_state(java, name, "CompleteCommit")
    assert eventually_listed == complete
    described = java.agent.call("describe_transaction", transactional_id=name)
    assert (described["producer_epoch"], described["partitions"], described["is_started"]) == (1, [], True)


def wait_for_state(java: JavaClient, name: str, state: str) -> dict[str, object]:
    return eventually(lambda: listed(java, name), lambda found: found.get(name, {}).get("state") == state)


def test_the_producers_of_a_partition_show_their_open_transactions(
    java: JavaClient, reference: ConfluentKafka, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"x")])
    new, old = open_producer(java), open_producer(reference)
    for producer in (new, old):
        producer.begin()
        producer.send(topic, 0, b"a", b"b", b"c")

    def producers() -> list[dict[str, int]]:
        found = java.agent.call("describe_producers", topic=topic, partition=0)
        return sorted(found, key=lambda one: one["producer_id"])

    states = producers()
    assert [(one["producer_epoch"], one["last_sequence"], one["start_offset"]) for one in states] == [
        (0, 2, 1),
        (0, 2, 4),
    ]
    assert [one["coordinator_epoch"] for one in states] == [-1, -1]
    new.commit()
    old.abort()
    # The marker of transaction.version 2 carries the next epoch, and what the next epoch begins with is sequence 0.
    states = eventually(producers, lambda found: all(one["start_offset"] == -1 for one in found))
    assert [(one["producer_epoch"], one["last_sequence"]) for one in states] == [(1, -1), (0, 2)]
    assert [one["coordinator_epoch"] for one in states] == [0, 0]


def test_kafka_python_sees_the_same(
    client_named: Callable[[str], Client],
    open_producer: NewProducer,
    new_topic: NewTopic,
    fresh_name: Callable[[], str],
) -> None:
    kafka_python = client_named("kafka-python")
    assert isinstance(kafka_python, KafkaPython)
    topic, name = new_topic(), fresh_name()
    producer = open_producer(kafka_python, name)
    producer.begin()
    producer.send(topic, 0, b"a")
    assert kafka_python.transaction_states()[name] == "Ongoing"
    assert kafka_python.transaction_partitions(name) == {(topic, 0)}
    assert kafka_python.transaction_start_offsets(topic, 0) == [0]
    producer.commit()


def test_an_operator_aborts_one_partition_of_a_transaction_through_its_leader(
    java: JavaClient, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    producer = open_producer(java)
    producer.begin()
    producer.send(topic, 0, b"hanging")
    [state] = java.agent.call("describe_producers", topic=topic, partition=0)
    java.agent.call(
        "abort_transaction",
        topic=topic,
        partition=0,
        producer_id=state["producer_id"],
        producer_epoch=state["producer_epoch"],
        coordinator_epoch=0,
    )
    java.produce(topic, [Record(b"behind it")])
    assert values(java, topic, 1) == [b"behind it"]


@pytest.mark.parametrize("operation", ["fence_producer", "force_terminate"])
def test_an_operator_ends_a_transaction_by_its_id(
    operation: str,
    java: JavaClient,
    reference: ConfluentKafka,
    open_producer: NewProducer,
    new_topic: NewTopic,
    fresh_name: Callable[[], str],
) -> None:
    topic, name = new_topic(), fresh_name()
    producer = open_producer(java, name)
    producer.begin()
    producer.send(topic, 0, b"ended by another hand")
    java.agent.call(operation, transactional_id=name)
    reference.produce(topic, [Record(b"behind it")])
    assert values(reference, topic, 1) == [b"behind it"]
    with pytest.raises(Exception, match=FENCED):
        producer.commit()
