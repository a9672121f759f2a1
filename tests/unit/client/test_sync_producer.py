"""The blocking producer where threads and the garbage collector get in each other's way."""

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.client import (
    ConsumerSettings,
    GroupMetadata,
    IsolationLevel,
    NewTopic,
    ProducerSettings,
    TopicPartition,
    WrongOrder,
)
from ottla.client.sync import Client
from ottla.client.sync_producer import Producer
from ottla.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with EmbeddedCluster() as cluster, Client(cluster.bootstrap_servers) as opened:
        opened.admin.create_topics([NewTopic("t", partitions=1)])
        yield opened


def producer(client: Client, transactional_id: str) -> Producer:
    made = client.producer(ProducerSettings(transactional_id=transactional_id))
    made.init_transactions()
    return made


def test_a_block_that_the_garbage_collector_closes_on_the_clients_thread_is_aborted(client: Client) -> None:
    sending = producer(client, "abandoned")

    def sent() -> Iterator[int]:
        with sending.transaction():
            sending.send("t", b"x")
            yield 1

    async def collect() -> None:
        gc.collect()

    gc.disable()
    try:
        # In a cycle, so that nothing but the collector finds it.
        held: list[object] = [sent()]
        held.append(held)
        next(held[0])  # type: ignore[call-overload]
        del held
        client._thread.run(collect())
    finally:
        gc.enable()
    with sending.transaction():
        sending.send("t", b"kept")
    with client.consumer(ConsumerSettings(isolation=IsolationLevel.READ_COMMITTED)) as reading:
        reading.assign([TopicPartition("t", 0)])
        reading.seek(TopicPartition("t", 0), 0)
        assert [record.value for record in reading.poll(30_000)] == [b"kept"]
    sending.close()


def test_of_several_threads_that_commit_one_does_and_the_others_hear_that_they_are_out_of_order(client: Client) -> None:
    sending = producer(client, "crowd")

    def commit() -> str:
        try:
            sending.commit_transaction()
        except WrongOrder:
            return "wrong order"
        return "committed"

    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            sending.begin_transaction()
            sending.send("t", b"x")
            outcomes = [future.result() for future in [threads.submit(commit) for _ in range(4)]]
            assert sorted(outcomes) == ["committed", *["wrong order"] * 3]
    sending.close()


def test_an_end_that_was_refused_for_another_one_leaves_that_one_alone(client: Client) -> None:
    sending = producer(client, "mixed")

    def abort() -> str:
        try:
            sending.abort_transaction()
        except WrongOrder:
            return "wrong order"
        return "aborted"

    with ThreadPoolExecutor(4) as threads:
        sending.begin_transaction()
        sending.send_offsets_to_transaction({TopicPartition("t", 0): 1}, GroupMetadata("g"))
        outcomes = [future.result() for future in [threads.submit(abort) for _ in range(4)]]
        assert sorted(outcomes) == ["aborted", *["wrong order"] * 3]
    with sending.transaction():
        sending.send("t", b"after")
    sending.close()
