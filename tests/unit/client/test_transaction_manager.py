"""What a producer sends around the ends of its transactions."""

import pytest

from ottla.client import AbortableError, Client, Producer, ProducerSettings, WrongOrder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.schema import Message
from unit.client.virtual_brokers import TOPICS, Brokers, run

TOPIC = TOPICS[0]
SETTINGS = ProducerSettings(transactional_id="id", linger_ms=60_000, max_block_ms=200)


async def initialized(client: Client) -> Producer:
    producer = client.producer(SETTINGS)
    await producer.init_transactions()
    return producer


def of_transactions(brokers: Brokers) -> list[type[Message]]:
    return [kind for kind in brokers.kinds() if kind in (ProduceRequest, EndTxnRequest)]


def test_a_commit_is_asked_for_after_every_record_was_written() -> None:
    brokers = Brokers(refuses_first_batches=True)

    async def work(client: Client) -> None:
        async with await initialized(client) as producer:
            producer.begin_transaction()
            for topic in TOPICS:
                await producer.send(topic, b"v", partition=1)
            await producer.commit_transaction()

    run(brokers, work)
    assert of_transactions(brokers)[-1] is EndTxnRequest
    assert brokers.values == {(topic, 1): [b"v"] for topic in TOPICS}
    assert [request.committed for request in brokers.requests if isinstance(request, EndTxnRequest)] == [True]


def test_an_abort_drops_what_was_not_sent_and_asks_nobody() -> None:
    brokers = Brokers()

    async def work(client: Client) -> None:
        async with await initialized(client) as producer:
            producer.begin_transaction()
            delivery = await producer.send(TOPIC, b"v")
            await producer.abort_transaction()
            with pytest.raises(AbortableError, match="was aborted"):
                await delivery

    run(brokers, work)
    assert of_transactions(brokers) == []


def test_each_transaction_begins_its_sequences_under_the_epoch_that_the_last_end_gave() -> None:
    brokers = Brokers()

    async def work(client: Client) -> None:
        async with await initialized(client) as producer:
            for number in range(3):
                async with producer.transaction():
                    await producer.send(TOPIC, b"%d" % number, partition=0)

    run(brokers, work)
    ends = [request for request in brokers.requests if isinstance(request, EndTxnRequest)]
    assert [request.producer_epoch for request in ends] == [0, 1, 2]
    assert brokers.values == {(TOPIC, 0): [b"0", b"1", b"2"]}


def test_an_abort_without_an_answer_goes_on_and_the_next_block_waits_for_it() -> None:
    brokers = Brokers()
    brokers.errors[EndTxnRequest] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 10
    wrong = ValueError("the block's own")

    async def fail_in_block(producer: Producer) -> None:
        async with producer.transaction():
            await (await producer.send(TOPIC, b"lost", partition=0))
            raise wrong

    async def work(client: Client) -> None:
        settings = ProducerSettings(transactional_id="id", linger_ms=0, max_block_ms=2_000)
        async with client.producer(settings) as producer:
            await producer.init_transactions()
            with pytest.raises(ValueError, match="own"):
                await fail_in_block(producer)
            assert "The abort of the transaction failed as well" in wrong.__notes__[0]
            assert brokers.errors[EndTxnRequest], "the abort has been answered already"
            async with producer.transaction():
                await producer.send(TOPIC, b"seen", partition=0)

    run(brokers, work)
    ends = [request.committed for request in brokers.requests if isinstance(request, EndTxnRequest)]
    assert ends[-1]
    assert not any(ends[:-1])


def test_a_producer_without_a_transactional_id_has_no_transactions() -> None:
    async def work(client: Client) -> None:
        async with client.producer() as producer:
            with pytest.raises(WrongOrder, match="begin_transaction needs a transactional producer"):
                producer.begin_transaction()
            with pytest.raises(WrongOrder, match="transaction needs a transactional producer"):
                async with producer.transaction():
                    pass

    run(Brokers(), work)
