"""How batches reach brokers that refuse some of them, and what happens to those that cannot be sent."""

import asyncio

import pytest

from ottla.client import Client, KafkaError, ProducerSettings
from ottla.client.sender import IN_FLIGHT_REQUESTS_MAX
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.produce_request import ProduceRequest
from unit.client.virtual_brokers import TOPICS, Brokers, run

TOPIC = TOPICS[0]


def test_records_whose_first_batch_is_refused_arrive_once_and_in_order() -> None:
    brokers = Brokers(refuses_first_batches=True)
    values = [b"%d" % number for number in range(50)]

    async def work(client: Client) -> None:
        async with client.producer(ProducerSettings(batch_bytes=200, linger_ms=0)) as producer:
            for value in values:
                await producer.send(TOPIC, value, partition=1)

    run(brokers, work)
    assert brokers.values[TOPIC, 1] == values


def test_no_more_requests_wait_at_a_broker_than_it_remembers_batches() -> None:
    brokers = Brokers()

    async def work(client: Client) -> None:
        async with client.producer(ProducerSettings(batch_bytes=200, linger_ms=0)) as producer:
            for number in range(200):
                await producer.send(TOPICS[number % 4], b"v" * 50, partition=0)

    run(brokers, work)
    assert brokers.most_at_once == IN_FLIGHT_REQUESTS_MAX
    assert sum(map(len, brokers.values.values())) == 200


def test_one_request_carries_a_batch_for_each_partition_of_its_broker() -> None:
    brokers = Brokers()

    async def work(client: Client) -> None:
        async with client.producer(ProducerSettings(linger_ms=60_000)) as producer:
            for topic in TOPICS:
                await producer.send(topic, b"v", partition=2)

    run(brokers, work)
    (request,) = (request for request in brokers.requests if isinstance(request, ProduceRequest))
    assert len(request.topic_data) == len(TOPICS)


def test_without_a_producer_id_every_record_hears_why_and_the_next_one_asks_again() -> None:
    brokers = Brokers()
    brokers.errors[InitProducerIdRequest] = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]

    async def work(client: Client) -> None:
        async with client.producer() as producer:
            deliveries = [await producer.send(TOPIC, b"v", partition=number) for number in range(3)]
            results = await asyncio.gather(*deliveries, return_exceptions=True)
            refused = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            assert results == [refused] * 3
            assert (await (await producer.send(TOPIC, b"w", partition=0))).partition == 0

    run(brokers, work)
    assert brokers.values == {(TOPIC, 0): [b"w"]}


def test_what_was_not_sent_when_the_producer_is_cancelled_fails() -> None:
    async def work(client: Client) -> None:
        producer = client.producer(ProducerSettings(linger_ms=60_000))
        delivery = await producer.send(TOPIC, b"v")
        await client.close()
        with pytest.raises(Exception, match="closed before the record was delivered"):
            await delivery

    run(Brokers(), work)
