"""Transactions through clients that we did not write: Java speaks transaction.version 2, the others the older one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.clients.catalogue import CLIENTS, clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import FENCED, UNCOMMITTED, Client, Record
from harness.transactions import NewProducer, NewTopic, values
from harness.waiting import eventually

NAMES = [kind.name for kind in CLIENTS]


@clients_with()
def test_a_commit_shows_the_records_and_an_abort_hides_them(
    client: Client, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    producer = open_producer(client)
    for number in range(4):
        producer.begin()
        producer.send(topic, 0, b"%d-a" % number, b"%d-b" % number)
        (producer.abort if number % 2 else producer.commit)()
    producer.begin()
    producer.send(topic, 0, b"end")
    producer.commit()

    assert values(client, topic, 5) == [b"0-a", b"0-b", b"2-a", b"2-b", b"end"]
    everything = [b"%d-%s" % (number, half) for number in range(4) for half in (b"a", b"b")] + [b"end"]
    assert values(client, topic, 9, isolation=UNCOMMITTED) == everything


@clients_with()
def test_a_transaction_covers_several_partitions_and_topics(
    client: Client, reference: ConfluentKafka, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    first, second = new_topic(3), new_topic(2)
    places = [(first, 0), (first, 1), (first, 2), (second, 0), (second, 1)]
    producer = open_producer(client)
    for value, end in ((b"dropped", producer.abort), (b"kept", producer.commit)):
        producer.begin()
        for topic, partition in places:
            producer.send(topic, partition, value)
        end()
    for topic, partition in places:
        assert values(reference, topic, 1, partition=partition) == [b"kept"]


@clients_with()
def test_offsets_become_the_groups_with_the_commit_and_only_then(
    client: Client,
    reference: ConfluentKafka,
    open_producer: NewProducer,
    new_topic: NewTopic,
    fresh_name: Callable[[], str],
) -> None:
    source, target, group = new_topic(), new_topic(), fresh_name()
    producer = open_producer(client)
    producer.begin()
    producer.send(target, 0, b"dropped")
    producer.send_offset(group, source, 0, 5)
    producer.abort()
    assert client.committed(group, source, 0) is None
    producer.begin()
    producer.send(target, 0, b"kept")
    producer.send_offset(group, source, 0, 7)
    producer.commit()
    assert values(reference, target, 1) == [b"kept"]
    # A commit is answered when it is decided; the partitions, and that of the group, hear of it one by one.
    assert eventually(lambda: client.committed(group, source, 0), lambda offset: offset is not None) == 7


@clients_with()
def test_a_second_instance_fences_the_first(
    client: Client, open_producer: NewProducer, new_topic: NewTopic, fresh_name: Callable[[], str]
) -> None:
    topic, transactional_id = new_topic(), fresh_name()
    first = open_producer(client, transactional_id)
    first.begin()
    first.send(topic, 0, b"of the first")

    second = open_producer(client, transactional_id)
    with pytest.raises(Exception, match=FENCED):
        first.commit()
    second.begin()
    second.send(topic, 0, b"of the second")
    second.commit()
    assert values(client, topic, 1) == [b"of the second"]


@clients_with()
def test_the_server_aborts_a_transaction_that_takes_too_long(
    client: Client, reference: ConfluentKafka, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    producer = open_producer(client, timeout_ms=1000)
    producer.begin()
    producer.send(topic, 0, b"forgotten")
    reference.produce(topic, [Record(b"behind it")])
    # Nobody ends it: this returns once the server has.
    assert values(client, topic, 1) == [b"behind it"]
    with pytest.raises(Exception, match=rf"{FENCED}|INVALID_TXN_STATE|InvalidTxnState|invalid.*state"):
        producer.commit()


@clients_with()
def test_a_timeout_above_the_servers_is_refused(client: Client, open_producer: NewProducer) -> None:
    with pytest.raises(Exception, match=r"(?i)transaction.?timeout"):
        open_producer(client, timeout_ms=900_001)


@clients_with()
def test_an_empty_transaction_leaves_nothing(
    client: Client, open_producer: NewProducer, new_topic: NewTopic, reference: ConfluentKafka
) -> None:
    topic = new_topic()
    producer = open_producer(client)
    for end in (producer.commit, producer.abort, producer.commit):
        producer.begin()
        end()
    producer.begin()
    producer.send(topic, 0, b"only")
    producer.commit()
    assert values(client, topic, 1) == [b"only"]
    # The record and its marker.
    assert reference.end_offset(topic, 0) == 2


@clients_with()
def test_many_small_transactions_follow_each_other(
    client: Client, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    producer = open_producer(client)
    for number in range(50):
        producer.begin()
        producer.send(topic, 0, b"%d" % number)
        (producer.abort if number % 5 == 1 else producer.commit)()
    assert values(client, topic, 40) == [b"%d" % number for number in range(50) if number % 5 != 1]


@clients_with()
def test_a_reader_waits_at_an_open_transaction_and_what_stands_behind_it(
    client: Client, reference: ConfluentKafka, open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    producer = open_producer(reference)
    reference.produce(topic, [Record(b"before")])
    producer.begin()
    producer.send(topic, 0, b"open")
    reference.produce(topic, [Record(b"behind, of no transaction")])
    everything = [b"before", b"open", b"behind, of no transaction"]

    assert values(client, topic, 3, isolation=UNCOMMITTED) == everything
    assert values(client, topic, 1) == [b"before"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(values, client, topic, 3)
        # As long as another reader needs to read everything.
        values(reference, topic, 3, isolation=UNCOMMITTED)
        assert not waiting.done()
        producer.commit()
        assert waiting.result() == everything


def test_producers_of_both_protocols_share_a_partition_and_every_client_reads_them(
    client_named: Callable[[str], Client], open_producer: NewProducer, new_topic: NewTopic
) -> None:
    topic = new_topic()
    clients = [client_named(name) for name in NAMES]
    producers = {client.name.encode(): open_producer(client) for client in clients}
    committed = []
    everything = []
    for turn in range(3):
        for producer in producers.values():
            producer.begin()
        for half in (b"a", b"b"):
            for name, producer in producers.items():
                everything.append(b"%s-%d-%s" % (name, turn, half))
                producer.send(topic, 0, everything[-1])
        ends = {name: (number + turn) % 2 == 0 for number, name in enumerate(producers)}
        for name, producer in producers.items():
            (producer.commit if ends[name] else producer.abort)()
        committed += [value for value in everything[-10:] if ends[value.rsplit(b"-", 2)[0]]]
    producers[b"java"].begin()
    producers[b"java"].send(topic, 0, b"end")
    producers[b"java"].commit()
    for client in clients:
        assert values(client, topic, len(committed) + 1) == [*committed, b"end"], client.name
        assert values(client, topic, 31, isolation=UNCOMMITTED) == [*everything, b"end"], client.name
