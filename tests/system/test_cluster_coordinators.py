"""Three brokers, and coordinators on each of them: groups and transactions whose parts are on different brokers.

One of the brokers may be Apache Kafka's. Then its coordinators end transactions on Ottla's partitions, and the other
way round.
"""

import asyncio
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from harness.cluster import ApacheNodeProcess, Cluster, running_cluster
from harness.java import java
from harness.waiting import eventually
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC, TRANSACTION_TOPIC
from ottla.client import AbortableError, Client, GroupMetadata, ProducerSettings
from ottla.client import TopicPartition as ClientPartition
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.coordinator.partitioning import partition_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.find_coordinator_response import FindCoordinatorResponse

pytestmark = pytest.mark.timeout(240)

COORDINATOR_PARTITIONS = 6
GROUP, TRANSACTION = 0, 1
TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTION_TOPIC}
REPLICATED = {
    "offsets.topic.num.partitions": str(COORDINATOR_PARTITIONS),
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": str(COORDINATOR_PARTITIONS),
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
}
_numbers = count()


SHAPES = {
    "ottla": {"brokers": 3},
    "with-apache": {"controllers": 1, "brokers": 3, "apache_ids": (102,)},
}


@pytest.fixture(scope="module", params=["ottla", pytest.param("with-apache", marks=pytest.mark.java)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    plan = Cluster(tmp_path_factory.mktemp("cluster"), settings=REPLICATED, **SHAPES[request.param])
    with running_cluster(plan) as started:
        for key_type in TOPICS:
            eventually(lambda key_type=key_type: found(started, key_type, ["first"]), lambda answers: answers != {})
        yield started


def found(cluster: Cluster, key_type: int, keys: list[str]) -> dict[str, int]:
    """The coordinator of each key, if every broker names the same; nothing while one has none to name."""

    async def ask(port: int) -> dict[str, int] | None:
        connection = await open_connection(Address("127.0.0.1", port), client_id="test")
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        answer = await connection.request(request, FindCoordinatorResponse)
        await connection.close()
        if any(row.error_code for row in answer.coordinators):
            assert {row.error_code for row in answer.coordinators} <= {0, ErrorCode.COORDINATOR_NOT_AVAILABLE}
            return None
        ports = {node_id: node.port for node_id, node in cluster.brokers.items()}
        assert all(ports[row.node_id] == row.port for row in answer.coordinators)
        return {row.key: row.node_id for row in answer.coordinators}

    async def ask_all() -> list[dict[str, int] | None]:
        return await asyncio.gather(*(ask(node.port) for node in cluster.brokers.values()))

    answers = asyncio.run(ask_all())
    return answers[0] if answers[0] is not None and all(answer == answers[0] for answer in answers) else {}


def leaders(cluster: Cluster, topic: str) -> dict[int, int]:
    metadata = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(topic, timeout=30)
    return {index: partition.leader for index, partition in metadata.topics[topic].partitions.items()}


def create(cluster: Cluster, partitions: int, replicas: int = 3) -> str:
    """A topic whose partitions are spread over the brokers."""
    topic = f"topic-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(30)
    eventually(lambda: set(leaders(cluster, topic).values()), lambda found: -1 not in found)
    return topic


def key_of(cluster: Cluster, key_type: int, *, not_on: int) -> str:
    """A group or a transactional id that another broker coordinates."""
    keys = [f"key-{next(_numbers)}" for _ in range(20)]
    return next(key for key, broker_id in found(cluster, key_type, keys).items() if broker_id != not_on)


def consumer_of(cluster: Cluster, group: str, **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
            **settings,
        }
    )


def read(consumer: Consumer, wanted: int) -> list[str]:
    values: list[str] = []
    while len(values) < wanted:
        messages = consumer.consume(wanted - len(values), timeout=60)
        assert messages, f"only {len(values)} of {wanted} records came"
        for message in messages:
            assert message.error() is None, message.error()
            values.append(message.value().decode())
    return values


def run_tool(cluster: Cluster, main: str, *arguments: str) -> str:
    tool = java(main, "--bootstrap-server", cluster.bootstrap, *arguments)
    return subprocess.run(tool, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("key_type", TOPICS)
def test_every_broker_names_the_leader_of_the_partition_as_the_coordinator(cluster: Cluster, key_type: int) -> None:
    keys = [f"any-{number}" for number in range(50)]
    led = leaders(cluster, TOPICS[key_type])
    assert set(led.values()) == set(cluster.brokers)
    expected = {key: led[partition_for(key, COORDINATOR_PARTITIONS)] for key in keys}
    assert found(cluster, key_type, keys) == expected


def test_a_group_is_coordinated_by_another_broker_than_the_one_that_has_its_records(cluster: Cluster) -> None:
    topic = create(cluster, 1)
    group = key_of(cluster, GROUP, not_on=leaders(cluster, topic)[0])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    values = [f"value {number}" for number in range(20)]
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0
    first = consumer_of(cluster, group)
    first.subscribe([topic])
    assert read(first, 10) == values[:10]
    first.commit(offsets=[TopicPartition(topic, 0, 10)], asynchronous=False)
    first.close()
    second = consumer_of(cluster, group)
    second.subscribe([topic])
    assert read(second, 10) == values[10:]
    second.close()


@pytest.mark.java
def test_apaches_tools_find_groups_and_transactions_of_every_broker(cluster: Cluster) -> None:
    topic = create(cluster, 3)
    keys = {key_type: {} for key_type in TOPICS}
    for key_type, by_broker in keys.items():
        names = [f"tool-{key_type}-{number}" for number in range(30)]
        by_broker |= {broker_id: key for key, broker_id in found(cluster, key_type, names).items()}
        assert set(by_broker) == set(cluster.brokers)
    for group in keys[GROUP].values():
        consumer = consumer_of(cluster, group)
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        consumer.close()
    for transactional_id in keys[TRANSACTION].values():
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(60)
    groups = run_tool(cluster, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--list").split()
    assert set(keys[GROUP].values()) <= set(groups)
    described = run_tool(
        cluster, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--all-groups"
    )
    assert all(f"{group} " in described for group in keys[GROUP].values())
    listed = run_tool(cluster, "org.apache.kafka.tools.TransactionsCommand", "list").splitlines()
    coordinators = {line.split()[0]: int(line.split()[1]) for line in listed[1:]}
    assert {name: coordinators[name] for name in keys[TRANSACTION].values()} == {
        name: broker_id for broker_id, name in keys[TRANSACTION].items()
    }


def test_a_transaction_spans_the_partitions_of_three_brokers(cluster: Cluster) -> None:
    topic = create(cluster, 6)
    assert set(leaders(cluster, topic).values()) == set(cluster.brokers)
    for broker_id in cluster.brokers:
        transactional_id = key_of(cluster, TRANSACTION, not_on=broker_id)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(60)
        for is_commit in (True, False, True):
            producer.begin_transaction()
            for partition in range(6):
                producer.produce(topic, f"{broker_id}-{'kept' if is_commit else 'lost'}", partition=partition)
            if is_commit:
                producer.commit_transaction(60)
            else:
                assert producer.flush(60) == 0
                producer.abort_transaction(60)
    consumer = consumer_of(cluster, f"group-{next(_numbers)}")
    consumer.subscribe([topic])
    expected = sorted(f"{broker_id}-kept" for broker_id in cluster.brokers for _ in range(2 * 6))
    assert sorted(read(consumer, len(expected))) == expected
    consumer.close()


def test_a_transaction_commits_offsets_of_a_group_on_another_broker(cluster: Cluster) -> None:
    source, target = create(cluster, 3), create(cluster, 3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(30):
        producer.produce(source, str(number), partition=number % 3)
    assert producer.flush(60) == 0
    group = f"group-{next(_numbers)}"
    (group_broker,) = found(cluster, GROUP, [group]).values()
    transactional_id = key_of(cluster, TRANSACTION, not_on=group_broker)
    copier = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id})
    copier.init_transactions(60)
    consumer = consumer_of(cluster, group)
    consumer.subscribe([source])
    left = 30
    while left:
        copier.begin_transaction()
        values = read(consumer, min(10, left))
        for value in values:
            copier.produce(target, value)
        copier.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 60
        )
        copier.commit_transaction(60)
        left -= len(values)
    consumer.close()
    reader = consumer_of(cluster, f"group-{next(_numbers)}")
    reader.subscribe([target])
    assert sorted(map(int, read(reader, 30))) == list(range(30))
    reader.close()
    again = consumer_of(cluster, group)
    committed = again.committed([TopicPartition(source, index) for index in range(3)], timeout=60)
    assert [partition.offset for partition in committed] == [10, 10, 10]
    again.close()


def test_many_transactions_at_once_end_on_every_broker(cluster: Cluster) -> None:
    """With our own client, which leaves adding partitions to the brokers (transaction.version 2)."""
    topic = create(cluster, 6)
    group = f"group-{next(_numbers)}"
    has_apache = any(isinstance(node, ApacheNodeProcess) for node in cluster.nodes.values())

    async def transact(client: Client, number: int) -> None:
        settings = ProducerSettings(transactional_id=f"{topic}-{number}")
        async with client.producer(settings) as producer:
            await producer.init_transactions()
            round_number = 0
            while round_number < 4:
                producer.begin_transaction()
                outcome = "lost" if round_number == 1 else "kept"
                try:
                    for partition in range(6):
                        await producer.send(topic, f"{number}-{round_number}-{outcome}".encode(), partition=partition)
                    offsets = {ClientPartition(topic, number % 6): number}
                    await producer.send_offsets_to_transaction(offsets, GroupMetadata(group))
                    await (producer.abort_transaction() if outcome == "lost" else producer.commit_transaction())
                    round_number += 1
                except AbortableError:
                    # Apache's leaders void what they asked when a late marker of the transaction before comes; ours
                    # can tell it apart.
                    assert has_apache
                    await producer.abort_transaction()

    async def transact_all() -> None:
        async with Client(cluster.bootstrap) as client:
            await asyncio.gather(*(transact(client, number) for number in range(24)))

    asyncio.run(transact_all())
    consumer = consumer_of(cluster, f"group-{next(_numbers)}")
    consumer.subscribe([topic])
    expected = sorted(f"{number}-{done}-kept" for number in range(24) for done in (0, 2, 3) for _ in range(6))
    assert sorted(read(consumer, len(expected))) == expected
    consumer.close()


def test_a_transaction_ends_on_a_broker_that_was_down_when_it_was_committed(tmp_path: Path) -> None:
    settings = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    # One controller, which is never down.
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=3, settings=settings)) as cluster:
        eventually(lambda: found(cluster, TRANSACTION, ["first"]), lambda answers: answers != {})
        topic = create(cluster, 6, replicas=1)
        led = leaders(cluster, topic)
        names = [f"tx-{number}" for number in range(50)]
        for is_commit in (True, False):
            coordinators = found(cluster, TRANSACTION, names)
            transactional_id = names.pop()
            down = next(broker_id for broker_id in cluster.brokers if broker_id != coordinators[transactional_id])
            producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id})
            producer.init_transactions(60)
            producer.begin_transaction()
            for partition in range(6):
                producer.produce(topic, "kept" if is_commit else "lost", partition=partition)
            assert producer.flush(60) == 0
            cluster.nodes[down].kill()
            if is_commit:
                producer.commit_transaction(60)
            else:
                producer.abort_transaction(60)
            # Those that are up have ended it by themselves.
            up = [TopicPartition(topic, index) for index, broker_id in led.items() if broker_id != down]
            eventually(lambda up=up: ends_of(cluster, up), lambda ends: ends[0] == ends[1])
            cluster.nodes[down].start()
            cluster.until_known(cluster.brokers.keys())
            every = [TopicPartition(topic, index) for index in led]
            eventually(lambda every=every: ends_of(cluster, every), lambda ends: ends[0] == ends[1])
        consumer = consumer_of(cluster, "readers")
        consumer.assign([TopicPartition(topic, index, 0) for index in led])
        assert read(consumer, 6) == ["kept"] * 6
        consumer.close()


def ends_of(cluster: Cluster, partitions: list[TopicPartition]) -> tuple[list[int], list[int]]:
    """Where partitions end for those who read everything, and for those who read what is committed."""
    ends: list[list[int]] = []
    for isolation in ("read_uncommitted", "read_committed"):
        consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": "ends", "isolation.level": isolation, "log_level": 0}
        )
        ends.append([consumer.get_watermark_offsets(partition, timeout=30)[1] for partition in partitions])
        consumer.close()
    return ends[0], ends[1]
