"""Requests of transactions that come late, come twice, or whose answers are lost: no transaction is torn by them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from harness.bank import TOPICS, bank, confluent_teller, java_teller, open_bank
from harness.faulty_proxy import Fault, FaultyProxy, Plan, every
from harness.ports import free_port
from harness.servers import OttlaServer, Server, server_kind
from harness.waiting import eventually
from harness.workers import Worker
from ottla.protocol.api_keys import ApiKey

# Two waits for tellers and readers, each of which may be slow.
pytestmark = pytest.mark.timeout(240)

StartServer = Callable[..., Server]
StartBehindProxy = Callable[[Mapping[int, Plan]], tuple[FaultyProxy, str]]
StartTeller = Callable[[str, str, int], Worker]

TRANSFERS = 60


@pytest.fixture
def start_behind_proxy(start_server: StartServer) -> Iterator[StartBehindProxy]:
    with ExitStack() as closing:

        def start(plans: Mapping[int, Plan]) -> tuple[FaultyProxy, str]:
            address = f"127.0.0.1:{free_port()}"
            server = start_server({"advertised.listeners": f"PLAINTEXT://{address}"})
            proxy = FaultyProxy(int(address.split(":")[1]), server.port, plans)
            proxy.start()
            closing.callback(proxy.stop)
            open_bank(server)
            return proxy, address

        yield start


@pytest.mark.parametrize(
    ("api_key", "start_teller"),
    [
        (ApiKey.END_TXN, java_teller),
        (ApiKey.END_TXN, confluent_teller),
        (ApiKey.PRODUCE, java_teller),
        (ApiKey.PRODUCE, confluent_teller),
        # Clients of transaction.version 2 do without it.
        (ApiKey.ADD_PARTITIONS_TO_TXN, confluent_teller),
    ],
)
def test_nothing_is_torn_by_what_comes_late_or_twice_or_is_not_heard(
    start_behind_proxy: StartBehindProxy, api_key: ApiKey, start_teller: StartTeller
) -> None:
    proxy, address = start_behind_proxy({api_key: every(3, Fault.TWICE, Fault.DELAYED, Fault.ANSWER_LOST)})
    with bank(address, start_teller(address, "a", 3), start_teller(address, "b", 3)) as opened:
        opened.work(TRANSFERS)
        opened.close_for_the_day()
    assert {fault for key, fault in proxy.done if key == api_key} == {Fault.TWICE, Fault.DELAYED, Fault.ANSWER_LOST}


@pytest.mark.parametrize("api_key", [ApiKey.END_TXN, ApiKey.PRODUCE])
def test_nothing_is_torn_by_what_comes_again_in_the_middle_of_the_next_transaction(
    start_behind_proxy: StartBehindProxy, api_key: ApiKey
) -> None:
    """Of transaction.version 2: with the protocol before it, an end that comes again ends the next transaction."""
    proxy, address = start_behind_proxy({api_key: every(2, Fault.AGAIN_LATER)})
    with bank(address, java_teller(address, "a", 3), java_teller(address, "b", 3)) as opened:
        opened.work(TRANSFERS)
        opened.close_for_the_day()
    assert proxy.done[api_key, Fault.AGAIN_LATER] > 10


@pytest.mark.skipif(server_kind() is not OttlaServer, reason="Apache Kafka acknowledges the record and drops it")
def test_a_record_is_not_taken_for_one_of_the_transaction_before(start_behind_proxy: StartBehindProxy) -> None:
    """librdkafka gives the sequence of a record that it gave up, though it was sent, to the next record."""
    proxy, address = start_behind_proxy({ApiKey.PRODUCE: lambda number: Fault.ANSWER_LOST if number == 1 else None})
    producer = Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": "forgetful",
            # The record still waits for its second attempt when the transaction is aborted.
            "retry.backoff.ms": 5000,
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(TOPICS[0], "given up", partition=0)
    producer.poll(0)
    eventually(lambda: proxy.done[ApiKey.PRODUCE, Fault.ANSWER_LOST])
    producer.abort_transaction(60)
    kept = [f"kept {number}" for number in range(3)]
    for value in kept:
        commit_patiently(producer, value)
    consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(TOPICS[0], 0, 0)])
    read = [message.value().decode() for message in consumer.consume(len(kept), timeout=60)]
    consumer.close()
    assert read == kept


def commit_patiently(producer: Producer, value: str) -> None:
    """Writes a value in a transaction; in another one if it was refused."""
    while True:
        producer.begin_transaction()
        producer.produce(TOPICS[0], value, partition=0)
        try:
            producer.commit_transaction(60)
        except KafkaException as failure:
            assert failure.args[0].txn_requires_abort(), failure
            producer.abort_transaction(60)
        else:
            return
