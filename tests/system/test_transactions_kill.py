"""Exactly once under kill -9: of the node, of its clients, and of both while many transactions end."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import Producer

from harness.bank import bank, confluent_teller, java_teller, open_bank
from harness.clients.confluent import ConfluentKafka
from harness.clients.java_client import compiled_agent
from harness.java import java
from harness.servers import Server
from harness.transactions import committed_offsets, read_by_confluent
from harness.waiting import eventually
from harness.workers import Worker

StartServer = Callable[..., Server]

# `make chaos-transactions KILLS=n` wants more. The bank's are twice as many: as many of the node as of clients.
KILLS = int(os.environ.get("OTTLA_KILLS", "0"))
TRANSFORM_KILLS = KILLS or 5
BANK_KILLS = KILLS or 20
END_KILLS = KILLS or 6

PARTITIONS = 3
RECORDS = 400 * (TRANSFORM_KILLS + 1)


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    with ExitStack() as closing:

        def start(**options: str) -> Worker:
            arguments = [f"{name.replace('_', '-')}={value}" for name, value in options.items()]
            worker = Worker(lambda _run: java("Transformer", *arguments, classes=(compiled_agent(),)))
            closing.callback(worker.close)
            return worker

        yield start


def write_numbers(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
    for number in range(RECORDS):
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d" % number, partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0


def read_to_the_end(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """All committed numbers, partition by partition."""
    found = read_by_confluent(bootstrap, topic, PARTITIONS)
    return {partition: [int(value) for _, value in rows] for partition, rows in found.items()}


@pytest.mark.timeout(120 + 30 * TRANSFORM_KILLS)
def test_input_is_transformed_exactly_once_and_in_order(
    start_server: StartServer, start_worker: Callable[..., Worker]
) -> None:
    server = start_server({"group.min.session.timeout.ms": "1000"})
    client = ConfluentKafka(server.bootstrap)
    for topic in ("input", "output"):
        client.create_topic(topic, PARTITIONS, {})
        eventually(client.topics, lambda topics, topic=topic: topic in topics)
    write_numbers(server.bootstrap, "input")
    workers = [
        start_worker(
            bootstrap=server.bootstrap,
            input="input",
            output="output",
            group="transformers",
            transactional_id=f"transformer-{number}",
            instance=f"transformer-{number}",
            session_timeout_ms="3000",
        )
        for number in range(2)
    ]

    def transformed() -> int:
        for worker in workers:
            worker.revive()
        lines = [line for worker in workers for line in list(worker.said) if line.startswith("committed")]
        return sum(int(line.split(" ")[1]) for line in lines)

    for kill in range(1, TRANSFORM_KILLS + 1):
        enough = PARTITIONS * RECORDS * kill // (TRANSFORM_KILLS + 1)
        eventually(transformed, lambda found, enough=enough: found >= enough, timeout_s=90)
        if kill % 2:
            server.kill()
            server.start()
        else:
            workers[kill // 2 % 2].replace()
        print(f"kill {kill} of {TRANSFORM_KILLS}: {transformed()} of {PARTITIONS * RECORDS} records transformed")

    def committed() -> list[int]:
        for worker in workers:
            worker.revive()
        return committed_offsets(server.bootstrap, "transformers", "input", PARTITIONS)

    eventually(committed, lambda offsets: offsets == [RECORDS] * PARTITIONS, timeout_s=120)
    for worker in workers:
        worker.finish()
    numbers = list(range(RECORDS))
    assert read_to_the_end(server.bootstrap, "output") == dict.fromkeys(range(PARTITIONS), numbers)


@pytest.mark.timeout(120 + 30 * BANK_KILLS)
def test_the_bank_balances_at_every_read(start_server: StartServer) -> None:
    server = start_server()
    open_bank(server)
    tellers = [
        java_teller(server.bootstrap, "java", 2),
        confluent_teller(server.bootstrap, "confluent-a", 2),
        confluent_teller(server.bootstrap, "confluent-b", 2),
    ]
    with bank(server.bootstrap, *tellers) as opened:
        opened.work(50)
        for kill in range(1, BANK_KILLS + 1):
            server.kill()
            server.start()
            opened.work(20)
            tellers[kill % 3].replace()
            opened.work(10)
            print(f"kill {kill} of {BANK_KILLS}, of the node and of a client: {opened.check()} transfers balance")
        opened.close_for_the_day()


@pytest.mark.timeout(120 + 30 * END_KILLS)
def test_a_coordinator_that_dies_while_it_ends_transactions_finishes_them(start_server: StartServer) -> None:
    """Transactions over eight partitions: whenever the node is killed, some are decided and not yet told to all."""
    server = start_server()
    open_bank(server)
    chance = random.Random(5)
    tellers = [
        java_teller(server.bootstrap, "java", 8),
        *(confluent_teller(server.bootstrap, f"confluent-{number}", 8) for number in range(3)),
    ]
    with bank(server.bootstrap, *tellers) as opened:
        opened.work(20)
        for kill in range(1, END_KILLS + 1):
            opened.work(chance.randint(1, 40))
            server.kill()
            server.start()
            print(f"kill {kill} of {END_KILLS}: {opened.check()} transfers are whole")
        opened.work(20)
        opened.close_for_the_day()
