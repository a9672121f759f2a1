"""Transactions of our own client, by the newer protocol and by the older one that clients before Kafka 4.0 speak."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from os import kill
from typing import Final

import confluent_kafka
import pytest

from harness.servers import Server
from harness.waiting import eventually, eventually_async
from ottla.client import (
    AbortableError,
    Client,
    ClientError,
    ConsumerSettings,
    FatalProducerError,
    GroupMetadata,
    GroupSettings,
    IsolationLevel,
    KafkaError,
    NewRecord,
    OffsetReset,
    OffsetSpec,
    Producer,
    ProducerSettings,
    Record,
    TopicPartition,
    WrongOrder,
    sync,
    transaction_owner,
)
from ottla.client.columns import batches_to_columns
from ottla.client.errors import RequestTimedOut
from ottla.client.producer_ids import ProducerIdentity
from ottla.client.records import encode_records
from ottla.protocol.errors import ErrorCode

COMMITTED: Final = IsolationLevel.READ_COMMITTED
PARTITIONS: Final = 4

NewTopic = Callable[..., str]

Story = Callable[[Client, Producer], Awaitable[None]]

both_protocols = pytest.mark.usefixtures("protocol")


@pytest.fixture(params=["newer", "older"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client takes the cluster to speak; a cluster of the newer protocol understands both."""
    if request.param == "older":
        monkeypatch.setattr(transaction_owner, "adds_partitions_itself", lambda _connection: False)


def run(server: Server, work: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Client(server.bootstrap) as opened:
            await work(opened)

    asyncio.run(main())


@asynccontextmanager
async def transactional(
    client: Client, transactional_id: str, *, max_block_ms: float = 60_000
) -> AsyncIterator[Producer]:
    """A producer that is ready for its first transaction."""
    settings = ProducerSettings(transactional_id=transactional_id, max_block_ms=max_block_ms)
    async with client.producer(settings) as producer:
        await producer.init_transactions()
        yield producer


def run_producer(server: Server, transactional_id: str, story: Story) -> None:
    """A story of a client and of its producer that is ready for its first transaction."""

    async def work(client: Client) -> None:
        async with transactional(client, transactional_id) as producer:
            await story(client, producer)

    run(server, work)


async def all_ended(client: Client, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the partitions end, once no transaction is open in them."""
    wanted = dict.fromkeys(partitions, OffsetSpec.LATEST)

    async def both() -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        ends = await client.admin.list_offsets(wanted)
        stable = await client.admin.list_offsets(wanted, isolation=COMMITTED)
        return {at: one.offset for at, one in ends.items()}, {at: one.offset for at, one in stable.items()}

    ends, _ = await eventually_async(both, lambda found: found[0] == found[1])
    return ends


async def read(
    client: Client, topic: str, isolation: IsolationLevel = COMMITTED, partitions: int = PARTITIONS
) -> list[Record]:
    """Everything in a topic, after all transactions have ended there."""
    ends = await all_ended(client, [TopicPartition(topic, number) for number in range(partitions)])
    settings = ConsumerSettings(isolation=isolation, offset_reset=OffsetReset.EARLIEST)
    found: list[Record] = []
    async with client.consumer(settings) as consumer:
        consumer.assign(ends)
        while any((consumer.position(partition) or 0) < end for partition, end in ends.items()):
            found += await consumer.poll(1_000)
    return found


def values(records: list[Record]) -> list[bytes | None]:
    return sorted(record.value or b"" for record in records)


@both_protocols
def test_what_is_committed_is_read_and_what_is_aborted_never(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)

    async def story(client: Client, producer: Producer) -> None:
        expected, sent = [], []
        for number in range(8):
            producer.begin_transaction()
            written = [b"%d %d" % (number, record) for record in range(10)]
            for at, value in enumerate(written):
                await producer.send(topic, value, partition=at % PARTITIONS)
            await producer.flush()
            sent += written
            if number % 3:
                expected += written
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
        assert values(await read(client, topic)) == sorted(expected)
        # The markers take offsets, and no reader sees them.
        everything = await read(client, topic, IsolationLevel.READ_UNCOMMITTED)
        assert values(everything) == sorted(sent)
        assert [record.offset for record in everything if record.partition == 0][:6] == [0, 1, 2, 4, 5, 6]
        fetched = await client.fetch_partitions({TopicPartition(topic, 0): 0}, isolation=COMMITTED)
        answer = fetched[TopicPartition(topic, 0)]
        columns = batches_to_columns(answer.batches, aborted=answer.aborted)
        of_first = [value for value in expected if int(value.split()[1]) % PARTITIONS == 0]
        assert columns.column("value").to_pylist() == of_first

    run_producer(server, topic, story)


@both_protocols
def test_librdkafka_reads_what_we_committed(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic()

    async def story(client: Client, producer: Producer) -> None:
        for value in (b"a", b"x", b"b"):
            producer.begin_transaction()
            await (await producer.send(topic, value))
            await (producer.abort_transaction() if value == b"x" else producer.commit_transaction())

    run_producer(server, topic, story)
    settings = {"bootstrap.servers": server.bootstrap, "group.id": topic, "isolation.level": "read_committed"}
    consumer = confluent_kafka.Consumer(settings | {"auto.offset.reset": "earliest"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    assert [message.value() for message in consumer.consume(2, timeout=30)] == [b"a", b"b"]
    consumer.close()


def test_calls_in_the_wrong_order_are_told_the_right_one(server: Server, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()

    async def work(client: Client) -> None:
        async with client.producer() as plain:
            with pytest.raises(WrongOrder, match="transactional_id"):
                plain.begin_transaction()
        async with client.producer(ProducerSettings(transactional_id=name)) as producer:
            with pytest.raises(WrongOrder, match="call init_transactions first"):
                producer.begin_transaction()
            await producer.init_transactions()
            with pytest.raises(WrongOrder, match="call begin_transaction"):
                await producer.init_transactions()
            for early in (producer.commit_transaction(), producer.abort_transaction(), producer.send(name, b"x")):
                with pytest.raises(WrongOrder, match="call begin_transaction first"):
                    await early
            with pytest.raises(WrongOrder, match="call begin_transaction first"):
                await producer.send_offsets_to_transaction({}, GroupMetadata(name))
            producer.begin_transaction()
            with pytest.raises(WrongOrder, match="call commit_transaction or abort_transaction first"):
                producer.begin_transaction()
            await producer.commit_transaction()

    run(server, work)


@both_protocols
def test_a_block_commits_at_its_end_and_aborts_on_an_exception(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)

    async def work(client: Client) -> None:
        async with transactional(client, topic) as producer:
            async with producer.transaction():
                await producer.send(topic, b"first")
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await (await producer.send(topic, b"second"))
                    raise ZeroDivisionError
            async with producer.transaction():
                pass
            async with producer.transaction():
                await producer.send(topic, b"third")
            # Closing the producer aborts what is open.
            producer.begin_transaction()
            await (await producer.send(topic, b"fourth"))
        assert values(await read(client, topic)) == [b"first", b"third"]

    run(server, work)


@both_protocols
def test_a_record_that_is_refused_fails_its_transaction_and_no_other(server: Server, new_topic: NewTopic) -> None:
    topic, narrow = new_topic(PARTITIONS), new_topic(1, {"max.message.bytes": "1000"})

    async def story(client: Client, producer: Producer) -> None:
        for number in range(3):
            async with producer.transaction():
                await producer.send(topic, b"kept %d" % number, partition=0)
            producer.begin_transaction()
            await producer.send(topic, b"lost", partition=0)
            await producer.send(narrow, b"x" * 5_000)
            with pytest.raises(AbortableError, match="call abort_transaction") as refused:
                await producer.commit_transaction()
            assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
            with pytest.raises(AbortableError, match="call abort_transaction"):
                await producer.send(topic, b"late", partition=0)
            await producer.abort_transaction()
        with pytest.raises(KafkaError):
            async with producer.transaction():
                await producer.send(topic, b"lost", partition=0)
                await producer.send(topic, b"nowhere", partition=99)
        async with producer.transaction():
            await producer.send(topic, b"last", partition=0)
        assert values(await read(client, topic)) == [b"kept 0", b"kept 1", b"kept 2", b"last"]

    run_producer(server, topic, story)


@both_protocols
def test_a_new_producer_fences_the_one_before_and_aborts_what_it_left(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)

    async def story(client: Client, old: Producer) -> None:
        old.begin_transaction()
        await (await old.send(topic, b"left open"))
        async with transactional(client, topic) as new:
            with pytest.raises(FatalProducerError, match="close it and make a new one") as fenced:
                await old.commit_transaction()
            assert fenced.value.code is ErrorCode.PRODUCER_FENCED
            for late in (old.abort_transaction(), old.send(topic, b"late")):
                with pytest.raises(FatalProducerError):
                    await late
            async with new.transaction():
                await new.send(topic, b"new")
        assert values(await read(client, topic)) == [b"new"]

    run_producer(server, topic, story)


@both_protocols
def test_a_zombie_that_goes_on_sending_learns_it_when_it_aborts(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)

    async def story(client: Client, old: Producer) -> None:
        old.begin_transaction()
        await (await old.send(topic, b"left open", partition=0))
        async with transactional(client, topic):
            with pytest.raises(ClientError):
                await (await old.send(topic, b"late", partition=0))
            with pytest.raises(FatalProducerError):
                await old.abort_transaction()
        assert await read(client, topic) == []

    run_producer(server, topic, story)


def test_an_unanswered_commit_is_called_again(
    start_server: Callable[..., Server], fresh_name: Callable[[], str]
) -> None:
    server, topic = start_server(), fresh_name()

    async def work(client: Client) -> None:
        # The first use of transactions makes their topic, which takes longer than the commit shall be given.
        async with transactional(client, topic) as first, first.transaction():
            await first.send(topic, b"first", partition=0)
        async with transactional(client, topic, max_block_ms=5_000) as producer:
            producer.begin_transaction()
            await (await producer.send(topic, b"value", partition=0))
            kill(server.pid, signal.SIGSTOP)
            try:
                with pytest.raises(RequestTimedOut):
                    await producer.commit_transaction()
                with pytest.raises(WrongOrder, match="call commit_transaction again"):
                    await producer.abort_transaction()
                with pytest.raises(WrongOrder, match="call commit_transaction again"):
                    await producer.send(topic, b"late")
            finally:
                kill(server.pid, signal.SIGCONT)
            await producer.commit_transaction()
            async with producer.transaction():
                await producer.send(topic, b"next", partition=0)
        assert values(await read(client, topic)) == [b"first", b"next", b"value"]

    run(server, work)


def test_an_open_transaction_holds_back_everything_behind_it(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic()
    place = {TopicPartition(topic, 0): OffsetSpec.LATEST}

    async def work(client: Client) -> None:
        async with client.producer() as plain, transactional(client, topic) as producer:
            await (await plain.send(topic, b"before"))
            producer.begin_transaction()
            await (await producer.send(topic, b"inside"))
            await (await plain.send(topic, b"behind"))
            assert (await client.admin.list_offsets(place))[TopicPartition(topic, 0)].offset == 3
            stable = await client.admin.list_offsets(place, isolation=COMMITTED)
            assert stable[TopicPartition(topic, 0)].offset == 1
            settings = ConsumerSettings(isolation=COMMITTED, offset_reset=OffsetReset.EARLIEST)
            async with client.consumer(settings) as consumer:
                consumer.assign(place)
                assert [record.value for record in await consumer.poll(30_000)] == [b"before"]
                assert consumer.lag(TopicPartition(topic, 0)) == 0
                await producer.commit_transaction()
                found: list[Record] = []
                while len(found) < 2:
                    found += await consumer.poll(30_000)
                assert [record.value for record in found] == [b"inside", b"behind"]

    run(server, work)


# Offsets of groups.


@both_protocols
def test_offsets_take_effect_with_the_commit(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def story(client: Client, producer: Producer) -> None:
        async def committed() -> dict[TopicPartition, int]:
            found = await client.admin.list_group_offsets(topic, [first, second], require_stable=True)
            return {partition: offset.offset for partition, offset in found.items()}

        async with producer.transaction():
            await producer.send_offsets_to_transaction({first: 5, second: 7}, GroupMetadata(topic))
            pending = await client.admin.list_group_offsets(topic, [first])
            assert pending[first].offset == -1
        assert await committed() == {first: 5, second: 7}
        producer.begin_transaction()
        await producer.send_offsets_to_transaction({first: 6}, GroupMetadata(topic))
        await producer.abort_transaction()
        assert await committed() == {first: 5, second: 7}

    run_producer(server, topic, story)


@both_protocols
def test_input_is_transformed_exactly_once_over_aborts(server: Server, new_topic: NewTopic) -> None:
    source, target = new_topic(PARTITIONS), new_topic(PARTITIONS)

    async def work(client: Client) -> None:
        async with client.producer() as plain:
            for number in range(200):
                await plain.send(source, b"%d" % number, partition=number % PARTITIONS)
        settings = ConsumerSettings(
            isolation=COMMITTED, offset_reset=OffsetReset.EARLIEST, max_poll_records=23, auto_commit=False
        )
        done = turns = 0
        async with (
            client.consumer(settings, GroupSettings(source)) as consumer,
            transactional(client, source) as producer,
        ):
            consumer.subscribe([source])
            while done < 200:
                records = await consumer.poll(30_000)
                turns += 1
                producer.begin_transaction()
                for record in records:
                    await producer.send(target, b"out " + (record.value or b""), partition=record.partition)
                ends = {TopicPartition(source, record.partition): record.offset + 1 for record in records}
                await producer.send_offsets_to_transaction(ends, consumer.group_metadata())
                if turns % 3 == 0:
                    await producer.abort_transaction()
                    consumer.reset_to_committed()
                else:
                    await producer.commit_transaction()
                    done += len(records)
        assert values(await read(client, target)) == sorted(b"out %d" % number for number in range(200))

    run(server, work)


@both_protocols
def test_a_member_whose_partitions_went_to_another_cannot_commit_late(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)
    settings = ConsumerSettings(isolation=COMMITTED, offset_reset=OffsetReset.EARLIEST, auto_commit=False)

    async def work(client: Client) -> None:
        group = GroupSettings(topic)
        async with client.consumer(settings, group) as first, transactional(client, topic) as producer:
            first.subscribe([topic])
            while not first.assignment:
                await first.poll(1_000)
            frozen = first.group_metadata()
            async with client.consumer(settings, group) as second:
                second.subscribe([topic])
                while not second.assignment:
                    await asyncio.gather(first.poll(500), second.poll(500))
                offsets = {TopicPartition(topic, 0): 1}
                producer.begin_transaction()
                with pytest.raises(AbortableError) as refused:
                    await producer.send_offsets_to_transaction(offsets, frozen)
                assert refused.value.code is ErrorCode.ILLEGAL_GENERATION
                await producer.abort_transaction()
                async with producer.transaction():
                    await producer.send_offsets_to_transaction(offsets, first.group_metadata())

    run(server, work)


# Several writers in one transaction.


def batch(identity: ProducerIdentity, value: bytes, sequence: int) -> bytearray:
    return encode_records(
        [NewRecord(value, timestamp_ms=1)] * 10,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def test_tasks_write_into_a_transaction_that_their_driver_owns(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)

    async def write(identity: ProducerIdentity, partition: int, value: bytes) -> None:
        async with Client(server.bootstrap) as task:
            for sequence in (0, 10, 20):
                batches = batch(identity, value, sequence)
                await task.produce_batches(topic, partition, batches, transactional_id=topic)

    async def work(client: Client) -> None:
        owner = client.transaction_owner(topic)
        await owner.init()
        for number in range(6):
            identity = owner.begin()
            await owner.add_partitions([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
            await asyncio.gather(*(write(identity, at, b"%d" % number) for at in range(PARTITIONS)))
            await owner.send_offsets({TopicPartition(topic, 0): number}, GroupMetadata(topic))
            await (owner.abort() if number % 2 else owner.commit())
        expected = sorted(b"%d" % number for number in (0, 2, 4) for _ in range(30 * PARTITIONS))
        assert values(await read(client, topic)) == expected
        found = await client.admin.list_group_offsets(topic, [TopicPartition(topic, 0)], require_stable=True)
        assert found[TopicPartition(topic, 0)].offset == 4

    run(server, work)


@both_protocols
def test_what_a_task_sends_after_the_abort_is_refused_by_its_epoch(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)
    partition = TopicPartition(topic, 0)

    async def work(client: Client) -> None:
        owner = client.transaction_owner(topic)
        await owner.init()
        owner.begin()
        identity = owner.hand_out()
        await owner.add_partitions([partition])
        await client.produce_batches(topic, 0, batch(identity, b"lost", 0), transactional_id=topic)
        await owner.abort()
        assert owner.identity != identity
        # Before the partition has heard of the abort, what comes late is aborted too.
        await eventually_async(
            lambda: client.admin.describe_transactions([topic]), lambda found: found[topic].state != "PrepareAbort"
        )
        with pytest.raises(KafkaError) as refused:
            await client.produce_batches(topic, 0, batch(identity, b"late", 10), transactional_id=topic)
        assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
        owner.begin()
        await owner.add_partitions([partition])
        await client.produce_batches(topic, 0, batch(owner.hand_out(), b"next", 0), transactional_id=topic)
        await owner.commit()
        assert values(await read(client, topic)) == [b"next"] * 10

    run(server, work)


# Without an event loop.


def test_a_program_without_an_event_loop_has_transactions_too(server: Server, new_topic: NewTopic) -> None:
    topic = new_topic(PARTITIONS)
    with sync.Client(server.bootstrap) as client:
        with client.producer(ProducerSettings(transactional_id=topic)) as producer:
            producer.init_transactions()
            for number in range(20):
                producer.begin_transaction()
                for _ in range(10):
                    producer.send(topic, b"%d" % number)
                producer.send_offsets_to_transaction({TopicPartition(topic, 0): number}, GroupMetadata(topic))
                if number % 2:
                    producer.abort_transaction()
                else:
                    producer.commit_transaction()
            with producer.transaction():
                producer.send(topic, b"block")
            with pytest.raises(AbortableError), producer.transaction():
                producer.send(topic, b"lost")
                producer.send(topic, b"nowhere", partition=99)
            with pytest.raises(ZeroDivisionError), producer.transaction():
                producer.send(topic, b"lost")
                raise ZeroDivisionError
        owner = client.transaction_owner(f"{topic}-owner")
        owner.init()
        identity = owner.begin()
        owner.add_partitions([TopicPartition(topic, 0)])
        client.produce_batches(topic, 0, batch(identity, b"owned", 0), transactional_id=f"{topic}-owner")
        owner.commit()

        def found() -> list[bytes]:
            settings = ConsumerSettings(isolation=COMMITTED, offset_reset=OffsetReset.EARLIEST)
            with client.consumer(settings) as consumer:
                consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
                taken: list[Record] = []
                while records := consumer.poll(300):
                    taken += records
            return sorted(record.value or b"" for record in taken)

        expected = [b"%d" % number for number in range(0, 20, 2) for _ in range(10)] + [b"block"] + [b"owned"] * 10
        assert eventually(found, lambda seen: len(seen) >= len(expected)) == sorted(expected)
