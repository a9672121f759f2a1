"""What our own client tells of transactions that went wrong, and that a program can go on as it is told."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from os import kill
from typing import Any

import pytest

from harness.servers import Server
from harness.waiting import eventually_async
from ottla.client import (
    AbortableError,
    Client,
    ClientError,
    ClientSettings,
    CommitInDoubt,
    ConsumerSettings,
    FatalProducerError,
    GroupMetadata,
    GroupSettings,
    IsolationLevel,
    KafkaError,
    NewTopic,
    OffsetReset,
    Producer,
    ProducerSettings,
    RequestTimedOut,
    TopicPartition,
    WrongOrder,
    sync,
)
from ottla.client.errors import ConnectionFailure
from ottla.protocol.errors import ErrorCode

MakeTopic = Callable[..., str]

COMMITTED = ConsumerSettings(
    isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.EARLIEST, auto_commit=False
)
TIMEOUT_MS = 1_000

both_protocols = pytest.mark.parametrize("is_v2", [True, False], ids=["newer", "older"])


def run(server: Server, work: Callable[[Client], Awaitable[None]], settings: ClientSettings | None = None) -> None:
    async def main() -> None:
        async with Client(server.bootstrap, settings) as opened:
            await work(opened)

    asyncio.run(main())


@asynccontextmanager
async def transactional(
    client: Client, transactional_id: str, *, is_v2: bool = True, timeout_ms: int = 60_000, max_block_ms: float = 60_000
) -> AsyncIterator[Producer]:
    """A producer that is ready for its first transaction."""
    settings = ProducerSettings(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, max_block_ms=max_block_ms
    )
    async with client.producer(settings) as producer:
        await producer.init_transactions()
        assert producer._transactions is not None
        producer._transactions.owner.is_v2 &= is_v2
        yield producer


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        kill(server.pid, signal.SIGCONT)


async def timed_out(client: Client, transactional_id: str) -> None:
    """Wait until the coordinator has aborted the transaction of this id."""

    async def state() -> str:
        return (await client.admin.describe_transactions([transactional_id]))[transactional_id].state

    await eventually_async(state, lambda found: found == "CompleteAbort")


async def read(client: Client, topic: str, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    async with client.consumer(COMMITTED) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        while len(found) < count:
            found += [record.value for record in await consumer.poll(10_000)]
    return found


# Too late.


def test_a_commit_that_comes_too_late_says_so_and_the_producer_goes_on(server: Server, new_topic: MakeTopic) -> None:
    topic = new_topic()

    async def work(client: Client) -> None:
        async with transactional(client, topic, timeout_ms=TIMEOUT_MS) as producer:
            producer.begin_transaction()
            await (await producer.send(topic, b"lost"))
            await timed_out(client, topic)
            with pytest.raises(AbortableError, match="longer than transaction_timeout_ms=1000"):
                await producer.commit_transaction()
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"kept")
        assert await read(client, topic, 1) == [b"kept"]

    run(server, work)


def test_a_record_that_comes_too_late_says_so_and_the_producer_goes_on(server: Server, new_topic: MakeTopic) -> None:
    topic = new_topic()

    async def work(client: Client) -> None:
        async with transactional(client, topic, timeout_ms=TIMEOUT_MS) as producer:
            for late_call in ("commit", "offsets"):
                producer.begin_transaction()
                await (await producer.send(topic, b"lost"))
                await timed_out(client, topic)
                with pytest.raises(KafkaError, match="longer than transaction_timeout_ms=1000"):
                    if late_call == "commit":
                        await (await producer.send(topic, b"late"))
                    else:
                        await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, GroupMetadata(topic))
                with pytest.raises(AbortableError, match="longer than transaction_timeout_ms=1000"):
                    await producer.commit_transaction()
                await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(topic, b"kept")
        assert await read(client, topic, 1) == [b"kept"]

    run(server, work)


def test_by_the_older_protocol_a_late_commit_fences_and_names_both_reasons(
    server: Server, new_topic: MakeTopic
) -> None:
    topic = new_topic()

    async def work(client: Client) -> None:
        async with transactional(client, topic, timeout_ms=TIMEOUT_MS, is_v2=False) as producer:
            producer.begin_transaction()
            await (await producer.send(topic, b"lost"))
            await timed_out(client, topic)
            with pytest.raises(FatalProducerError, match=r"taken over, or it was open for .* transaction_timeout_ms"):
                await producer.commit_transaction()

    run(server, work)


# Fenced.


@both_protocols
def test_a_fenced_producer_is_not_told_to_abort(server: Server, new_topic: MakeTopic, *, is_v2: bool) -> None:
    topic = new_topic()

    async def work(client: Client) -> None:
        async with transactional(client, topic, is_v2=is_v2) as old:
            old.begin_transaction()
            await (await old.send(topic, b"left open"))
            async with transactional(client, topic, is_v2=is_v2):
                with pytest.raises(KafkaError, match="taken over"):
                    await (await old.send(topic, b"late"))
                for late in (old.commit_transaction, old.abort_transaction):
                    with pytest.raises(FatalProducerError, match="taken over") as told:
                        await late()
                    assert told.value.code is ErrorCode.PRODUCER_FENCED

    run(server, work)


def test_a_block_of_a_fenced_producer_ends_with_what_stops_the_program(server: Server, new_topic: MakeTopic) -> None:
    topic = new_topic()

    async def work(client: Client) -> None:
        async with transactional(client, topic) as old:
            with pytest.raises(FatalProducerError, match="taken over") as told:
                async with old.transaction():
                    await (await old.send(topic, b"left open"))
                    async with transactional(client, topic):
                        await (await old.send(topic, b"late"))
            assert isinstance(told.value.__cause__, KafkaError)
        async with transactional(client, topic) as old:
            with pytest.raises(ZeroDivisionError) as own:
                async with old.transaction():
                    await (await old.send(topic, b"left open"))
                    async with transactional(client, topic):
                        raise ZeroDivisionError
            assert "PRODUCER_FENCED" in own.value.__notes__[0]

    run(server, work)


# Brokers that do not answer.


@pytest.fixture
def prepared(start_server: Callable[..., Server]) -> Server:
    """A server of its own, on which transactions and groups have been used: the first use takes its time."""
    server = start_server()

    async def work(client: Client) -> None:
        await client.admin.create_topics([NewTopic("input", partitions=1), NewTopic("output", partitions=1)])
        async with transactional(client, "warm") as producer, producer.transaction():
            await producer.send_offsets_to_transaction({TopicPartition("input", 0): 0}, GroupMetadata("warm"))
        async with client.producer() as plain:
            for number in range(6):
                await plain.send("input", b"%d" % number)

    run(server, work)
    return server


def test_a_loop_of_blocks_goes_on_by_itself_after_a_broker_was_frozen(prepared: Server) -> None:
    """The loop of docs/how-to/use-transactions.md; the group's offsets are in the transaction that was not aborted."""
    source = TopicPartition("input", 0)
    patience = ClientSettings(call_timeout_ms=2_000, request_timeout_ms=3_000)
    with (
        ExitStack() as thawing,
        sync.Client(prepared.bootstrap, patience) as client,
        client.producer(ProducerSettings(transactional_id="loop", max_block_ms=2_000)) as producer,
        client.consumer(replace(COMMITTED, max_poll_records=2), GroupSettings("loop")) as consumer,
    ):
        producer.init_transactions()
        consumer.subscribe(["input"])
        failures: list[ClientError] = []

        def turn(at_end: Callable[[], None]) -> int:
            records = consumer.poll(200)
            if not records:
                return 0
            try:
                with producer.transaction():
                    for record in records:
                        producer.send("output", record.value).result()
                    producer.send_offsets_to_transaction({source: records[-1].offset + 1}, consumer.group_metadata())
                    at_end()
            except CommitInDoubt:
                producer.commit_transaction()
            except FatalProducerError:
                raise
            except ClientError as error:
                failures.append(error)
                consumer.reset_to_committed()
                return 0
            return len(records)

        def freeze() -> None:
            thawing.enter_context(frozen(prepared))
            raise RequestTimedOut("as if a broker had not answered")

        deadline_s = time.monotonic() + 60
        while not (failures and hasattr(failures[-1], "__notes__")):
            assert time.monotonic() < deadline_s, failures
            turn(freeze)
        assert "call abort_transaction again" in failures[-1].__notes__[0]
        assert turn(freeze) == 0
        thawing.close()
        made = 0
        while made < 6:
            assert time.monotonic() < deadline_s, failures
            made += turn(lambda: None)

    async def check(client: Client) -> None:
        assert await read(client, "output", 6) == [b"%d" % number for number in range(6)]

    run(prepared, check)


def test_a_commit_is_in_doubt_whatever_kept_its_answer_away(prepared: Server) -> None:
    """Frozen brokers keep silent, dead ones refuse connections: how the transaction ended is unknown in both cases."""

    async def work(client: Client) -> None:
        async with transactional(client, "doubt", max_block_ms=2_000) as producer:
            producer.begin_transaction()
            await (await producer.send("output", b"value"))
            prepared.kill()
            with pytest.raises(CommitInDoubt, match="call commit_transaction again") as told:
                await producer.commit_transaction()
            assert isinstance(told.value.__cause__, ConnectionFailure | RequestTimedOut)
            prepared.start()
            await producer.commit_transaction()
        assert await read(client, "output", 1) == [b"value"]

    run(prepared, work)


def test_a_time_out_inside_a_block_is_no_commit_in_doubt(prepared: Server) -> None:
    settings = ProducerSettings(transactional_id="inside", max_block_ms=1_000, delivery_timeout_ms=500)
    patience = ClientSettings(request_timeout_ms=1_000)
    with sync.Client(prepared.bootstrap, patience) as client, client.producer(settings) as producer:
        producer.init_transactions()
        with ExitStack() as thawing:
            with pytest.raises(RequestTimedOut) as told, producer.transaction():
                producer.send("output", b"value").result()
                thawing.enter_context(frozen(prepared))
                producer.send("output", b"another").result()
            assert not isinstance(told.value, CommitInDoubt)
            assert "call abort_transaction again" in told.value.__notes__[0]
            with pytest.raises(WrongOrder, match="call abort_transaction again"):
                producer.begin_transaction()
        with producer.transaction():
            producer.send("output", b"next")


# Calls that a program got wrong.


def test_without_an_event_loop_a_record_outside_a_transaction_is_refused_at_once(
    server: Server, new_topic: MakeTopic
) -> None:
    topic = new_topic()
    with sync.Client(server.bootstrap) as client:
        with client.producer(ProducerSettings(transactional_id=topic)) as producer:
            with pytest.raises(WrongOrder, match="call init_transactions first"):
                producer.send(topic, b"early")
            producer.init_transactions()
            with pytest.raises(WrongOrder, match="call begin_transaction first"):
                producer.send(topic, b"early")
        with pytest.raises(ClientError, match="closed"):
            producer.send(topic, b"late")


def test_a_timeout_that_the_broker_does_not_allow_is_told_with_the_limit(
    server: Server, fresh_name: Callable[[], str]
) -> None:
    settings = ProducerSettings(transactional_id=fresh_name(), transaction_timeout_ms=900_001)
    limit = "transaction_timeout_ms=900001 is more than the broker's transaction.max.timeout.ms=900000"
    with (
        sync.Client(server.bootstrap) as client,
        client.producer(settings) as producer,
        pytest.raises(FatalProducerError, match=limit),
    ):
        producer.init_transactions()


def test_a_groups_name_in_place_of_its_metadata_leaves_the_transaction_as_it_is(
    server: Server, new_topic: MakeTopic
) -> None:
    topic = new_topic()
    wrong: Any = topic
    settings = ProducerSettings(transactional_id=topic)
    with sync.Client(server.bootstrap) as client, client.producer(settings) as producer:
        producer.init_transactions()
        with producer.transaction():
            with pytest.raises(TypeError, match="group_metadata"):
                producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, wrong)
            producer.send(topic, b"kept")
