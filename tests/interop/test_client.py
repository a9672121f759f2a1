"""Our own client against a running server, with librdkafka at the other end of the data and in the same groups."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import confluent_kafka
import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Received
from harness.clients.contract import Record as Sent
from harness.ports import free_port
from harness.servers import Server
from harness.taking import take
from ottla.client import (
    Client,
    ClientError,
    ClientSettings,
    Codec,
    ConsumerSettings,
    FetchLimits,
    GroupSettings,
    IsolationLevel,
    KafkaError,
    NewRecord,
    OffsetReset,
    OffsetSpec,
    ProducerSettings,
    Record,
    TopicPartition,
    sync,
)
from ottla.client.columns import batches_to_columns, columns_to_batches
from ottla.client.raw import produce_batches
from ottla.client.records import decode_records, encode_records
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import iterate_headers

FROM_THE_START = ConsumerSettings(offset_reset=OffsetReset.EARLIEST)
RECORDS = [
    Sent(b"value", b"key", (("name", b"x"), ("other", None)), 1_600_000_000_000),
    Sent(None, b"tombstone", (), 1_600_000_000_001),
    Sent(b"", None, (), 1_600_000_000_002),
    Sent(b"x" * 30_000, b"large", (("name", b"1"), ("name", b"2")), 1_600_000_000_003),
]


@pytest.fixture
def client(server: Server) -> Iterator[sync.Client]:
    with sync.Client(server.bootstrap) as opened:
        yield opened


def run(server: Server, work: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Client(server.bootstrap) as opened:
            await work(opened)

    asyncio.run(main())


def send_all(client: sync.Client, topic: str, records: list[Sent], settings: ProducerSettings | None = None) -> None:
    with client.producer(settings) as producer:
        for record in records:
            producer.send(
                topic,
                record.value,
                record.key,
                partition=0,
                timestamp_ms=record.timestamp_ms,
                headers=record.headers,
            )


def read_all(client: sync.Client, partitions: list[TopicPartition], count: int, **settings: object) -> list[Record]:
    with client.consumer(ConsumerSettings(offset_reset=OffsetReset.EARLIEST, **settings)) as consumer:  # type: ignore[arg-type]
        consumer.assign(partitions)
        return take(consumer, count)


def as_received(record: Record) -> Received:
    return Received(
        Sent(record.value, record.key, tuple(record.headers), record.timestamp_ms), record.partition, record.offset
    )


# Records.


@pytest.mark.parametrize("codec", list(Codec))
def test_librdkafka_reads_what_we_write(
    codec: Codec, client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    send_all(client, topic, RECORDS, ProducerSettings(codec=codec))
    assert reference.read(topic, 0, 0, len(RECORDS)) == [Received(sent, 0, at) for at, sent in enumerate(RECORDS)]


@pytest.mark.parametrize("codec", list(Codec))
def test_we_read_what_librdkafka_writes(
    codec: Codec, client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, RECORDS, codec=codec.name.lower())
    found = read_all(client, [TopicPartition(topic, 0)], len(RECORDS))
    assert list(map(as_received, found)) == [Received(sent, 0, at) for at, sent in enumerate(RECORDS)]


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_records_arrive_whatever_acknowledgement_is_asked_for(
    acks: int, client: sync.Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    with client.producer(ProducerSettings(acks=acks, idempotent=False)) as producer:
        deliveries = [producer.send(topic, b"%d" % number) for number in range(50)]
        offsets = [delivery.result(30).offset for delivery in deliveries]
    assert offsets == ([-1] * 50 if acks == 0 else list(range(50)))
    assert [record.value for record in read_all(client, [TopicPartition(topic, 0)], 50)] == [
        b"%d" % number for number in range(50)
    ]


def test_keys_go_where_librdkafkas_murmur2_sends_them(
    client: sync.Client, server: Server, new_topic: Callable[..., str]
) -> None:
    ours, theirs = new_topic(7), new_topic(7)
    keys = [b"k%d" % number for number in range(100)]
    with client.producer() as producer:
        places = {key: producer.send(ours, b"v", key) for key in keys}
    settings = {"bootstrap.servers": server.bootstrap, "partitioner": "murmur2_random"}
    other = confluent_kafka.Producer(settings)
    found: dict[bytes, int] = {}
    for key in keys:
        other.produce(theirs, b"v", key, on_delivery=lambda _, m, key=key: found.update({key: m.partition()}))
    other.flush(30)
    assert {key: delivery.result().partition for key, delivery in places.items()} == found


def test_records_without_a_key_are_spread_in_runs(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)
    with client.producer(ProducerSettings(batch_bytes=2_000)) as producer:
        deliveries = [producer.send(topic, b"x" * 100) for _ in range(300)]
        partitions = [delivery.result().partition for delivery in deliveries]
    switches = sum(one != other for one, other in pairwise(partitions))
    assert set(partitions) == {0, 1, 2}
    assert switches < 40


def test_many_records_keep_their_order_in_each_partition(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(4)
    with client.producer(ProducerSettings(linger_ms=1)) as producer:
        for number in range(5_000):
            producer.send(topic, b"%d" % number, b"%d" % (number % 50))
    found = read_all(client, [TopicPartition(topic, number) for number in range(4)], 5_000)
    for partition in range(4):
        numbers = [int(record.value or b"") for record in found if record.partition == partition]
        assert numbers == sorted(numbers)
    assert sorted(int(record.value or b"") for record in found) == list(range(5_000))


def test_what_cannot_be_sent_is_told(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1, {"max.message.bytes": "1000"})
    with client.producer(ProducerSettings(linger_ms=0)) as producer:
        refused = producer.send(topic, b"x" * 2_000)
        with pytest.raises(KafkaError, match=r"MESSAGE_TOO_LARGE.*raise it there, or lower batch_bytes"):
            refused.result(30)
        with pytest.raises(KafkaError, match="has no partition 9"):
            producer.send(topic, b"x", partition=9).result(30)
        with pytest.raises(KafkaError, match="has no partition 9"):
            producer.flush()
        assert producer.send(topic, b"small").result(30).offset == 0


def test_a_reason_that_the_broker_gives_twice_is_told_once(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1, {"cleanup.policy": "compact"})
    with client.producer() as producer:
        with pytest.raises(KafkaError) as refused:
            producer.send(topic, b"nobody's").result(30)
        assert str(refused.value).count("without") == 1, refused.value


# Lost connections.


@dataclass
class Proxy:
    """Forwards to a server, and cuts connections around Produce requests: before one, or instead of its answer."""

    target: int
    port: int = field(default_factory=free_port)
    cuts: dict[str, int] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    server: asyncio.Server | None = None
    connections: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def _cuts(self, where: str) -> bool:
        if not self.cuts.get(where):
            return False
        self.cuts[where] -= 1
        self.done.append(where)
        return True

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        await asyncio.gather(*self.connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.append(task)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        keys: list[int] = []

        async def forward() -> None:
            while True:
                frame = await read_frame(reader)
                keys.append(struct.unpack_from(">h", frame, 4)[0])
                if keys[-1] == ApiKey.PRODUCE and self._cuts("request"):
                    return
                up_writer.write(frame)

        async def back() -> None:
            while True:
                frame = await read_frame(up_reader)
                if keys.pop(0) == ApiKey.PRODUCE and self._cuts("answer"):
                    return
                writer.write(frame)

        tasks = [asyncio.create_task(forward()), asyncio.create_task(back())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (writer, up_writer):
            end.transport.abort()
            with suppress(OSError):
                await end.wait_closed()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return head + await reader.readexactly(struct.unpack(">i", head)[0])


@pytest.mark.parametrize("idempotent", [True, False])
def test_cut_connections_write_nothing_twice_with_idempotence(
    idempotent: bool, start_server: Callable[..., Server]
) -> None:
    proxy_port = free_port()
    server = start_server({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy_port}"})
    proxy = Proxy(server.port, proxy_port)
    settings = ProducerSettings(idempotent=idempotent, linger_ms=0, batch_bytes=500)

    async def main() -> list[list[int]]:
        await proxy.start()
        async with Client(f"127.0.0.1:{proxy.port}") as client:
            async with client.producer(settings) as producer:
                await (await producer.send("cut", b"0", partition=0))
                for number in range(1, 2_000):
                    await producer.send("cut", b"%d" % number, partition=number % 2)
                    if number % 100 == 0:
                        proxy.cuts = {"request": 1} if number % 200 == 0 else {"answer": 1}
                        await producer.flush()
            found = []
            for partition in (0, 1):
                offset, values = 0, []
                while fetched := (await client.fetch_batches("cut", partition, offset)).batches:
                    records = decode_records("cut", partition, fetched, from_offset=offset)
                    values += [int(record.value or b"") for record in records]
                    offset = records[-1].offset + 1
                found.append(values)
        await proxy.stop()
        return found

    found = asyncio.run(main())
    assert proxy.done.count("request") >= 5
    assert proxy.done.count("answer") >= 5
    if idempotent:
        assert found == [[0, *range(2, 2_000, 2)], list(range(1, 2_000, 2))]
    else:
        assert sorted(set(found[0] + found[1])) == list(range(2_000))
        assert len(found[0] + found[1]) > 2_000, "the cuts are such that they would write twice"


def test_a_client_finds_its_server_again(start_server: Callable[..., Server]) -> None:
    server = start_server()

    async def main() -> None:
        async with Client(server.bootstrap) as client, client.producer() as producer:
            await (await producer.send("again", b"before"))
            await asyncio.to_thread(server.stop)
            later = await producer.send("again", b"after")
            listing = asyncio.create_task(client.admin.list_topics())
            await asyncio.to_thread(server.start)
            assert (await later).offset == 1
            assert "again" in [topic.name for topic in await listing]

    asyncio.run(main())


# Reading.


def test_reading_starts_where_it_is_told(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    times = [1_600_000_000_000 + 1_000 * number for number in range(10)]
    reference.produce(topic, [Sent(b"%d" % at, timestamp_ms=time) for at, time in enumerate(times)])
    with client.consumer(FROM_THE_START) as consumer:
        consumer.assign([partition])

        def next_value() -> bytes | None:
            return take(consumer, 1)[0].value

        assert next_value() == b"0"
        consumer.seek(partition, 7)
        assert next_value() == b"7"
        consumer.seek_to({partition: times[4] - 500})
        assert next_value() == b"4"
        consumer.seek_to({partition: OffsetSpec.EARLIEST})
        assert next_value() == b"0"
        assert consumer.position(partition) == 1
        assert consumer.lag(partition) == 9
        consumer.pause([partition])
        assert consumer.poll(0) == []
        consumer.resume([partition])
        assert next_value() == b"1"
        consumer.seek_to({partition: OffsetSpec.LATEST})
        assert consumer.poll(0) == []
        reference.produce(topic, [Sent(b"new")])
        assert next_value() == b"new"


def test_an_offset_that_is_gone_is_reset_or_told(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    reference.produce(topic, [Sent(b"a"), Sent(b"b")])
    with client.consumer(FROM_THE_START) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 1_000)
        assert take(consumer, 1)[0].value == b"a"
    with client.consumer(ConsumerSettings(offset_reset=OffsetReset.NONE)) as strict:
        strict.assign([partition])
        with pytest.raises(KafkaError, match="there is no committed offset"):
            strict.poll(1_000)
        strict.seek(partition, 1_000)
        with pytest.raises(KafkaError, match="does not hold offset 1000"):
            strict.poll(30_000)


def test_a_busy_partition_is_not_held_up_by_an_idle_one(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    with client.producer(ProducerSettings(batch_bytes=100_000)) as producer:
        for _ in range(3_000):
            producer.send(topic, b"x" * 1_000, partition=0)
    # The idle partition's fetch waits a minute: whoever waits behind it fails the test.
    limits = FetchLimits(max_wait_ms=60_000, partition_max_bytes=100_000)
    found = read_all(client, [TopicPartition(topic, 0), TopicPartition(topic, 1)], 3_000, limits=limits)
    assert [record.offset for record in found] == list(range(3_000))


def test_aborted_transactions_are_not_read_as_committed(
    client: sync.Client, server: Server, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    producer = confluent_kafka.Producer({"bootstrap.servers": server.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for value, is_commit in ((b"a", True), (b"b", False), (b"c", True)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(30)
        (producer.commit_transaction if is_commit else producer.abort_transaction)(30)
    partition = [TopicPartition(topic, 0)]
    committed = read_all(client, partition, 2, isolation=IsolationLevel.READ_COMMITTED)
    assert [record.value for record in committed] == [b"a", b"c"]
    assert [record.value for record in read_all(client, partition, 3)] == [b"a", b"b", b"c"]


# Whole batches.


def test_batches_pass_through_unopened(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    source, copy = new_topic(), new_topic()
    for codec in ("zstd", "gzip", "none"):
        reference.produce(source, RECORDS, codec=codec)
    fetched = client.fetch_batches(source, 0, 0)
    assert (fetched.high_watermark, fetched.log_start_offset, fetched.last_stable_offset) == (12, 0, 12)
    produced = client.produce_batches(copy, 0, fetched.batches)
    assert [answer.error for answer in produced] == [None] * len(produced)
    assert reference.read(copy, 0, 0, 12) == reference.read(source, 0, 0, 12)
    both = client.fetch_partitions({TopicPartition(source, 0): 0, TopicPartition(copy, 0): 4})
    assert [answer.high_watermark for answer in both.values()] == [12, 12]


def test_batches_carry_the_identity_that_the_caller_gave_them(
    client: sync.Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    identity = client.init_producer_id()

    def batch(sequence: int) -> bytearray:
        return encode_records(
            [NewRecord(b"%d" % sequence, timestamp_ms=1)],
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=sequence,
        )

    assert client.produce_batches(topic, 0, batch(0) + batch(1))[-1].base_offset == 1
    # Sent again, the broker recognises it; out of sequence, it refuses.
    assert client.produce_batches(topic, 0, batch(1))[0].base_offset == 1
    with pytest.raises(KafkaError) as refused:
        client.produce_batches(topic, 0, batch(5))
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    headers = [header for _, header in iterate_headers(client.fetch_batches(topic, 0, 0).batches)]
    assert [(header.producer_id, header.base_sequence) for header in headers] == [
        (identity.producer_id, 0),
        (identity.producer_id, 1),
    ]
    producers = client.admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)].producers
    assert [(state.producer_id, state.last_sequence) for state in producers] == [(identity.producer_id, 1)]


def test_columns_travel_both_ways(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    source, copy = new_topic(), new_topic()
    reference.produce(source, RECORDS, codec="lz4")
    columns = batches_to_columns(client.fetch_batches(source, 0, 0).batches)
    client.produce_batches(copy, 0, columns_to_batches(columns, timestamp_ms=0, codec=Codec.ZSTD))
    assert reference.read(copy, 0, 0, len(RECORDS)) == reference.read(source, 0, 0, len(RECORDS))


def test_a_batch_without_a_topic_or_a_leader_is_given_up_in_time(server: Server) -> None:
    async def work(client: Client) -> None:
        client.cluster.settings = ClientSettings(call_timeout_ms=500)
        with pytest.raises(ClientError, match="there is no topic 'nowhere'"):
            await produce_batches(client.cluster, "nowhere", 0, encode_records([NewRecord(b"x")]))
        with pytest.raises(ValueError, match="not whole record batches"):
            await produce_batches(client.cluster, "nowhere", 0, b"nonsense")

    run(server, work)


def test_a_record_that_cannot_be_one_harms_no_other(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    with sync.Client(server.bootstrap) as blocking, blocking.producer() as producer:
        deliveries = [producer.send(topic, b"good 1")]
        with pytest.raises(TypeError, match="value must be bytes, not str"):
            producer.send(topic, "bad")  # type: ignore[arg-type]
        deliveries.append(producer.send(topic, b"good 2"))
        assert [delivery.result(30).offset for delivery in deliveries] == [0, 1]


def test_one_where_several_are_expected_is_told_at_once(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    with sync.Client(server.bootstrap) as blocking:
        with pytest.raises(TypeError, match="write NewTopic"):
            blocking.admin.create_topics([topic])  # type: ignore[list-item]
        with blocking.consumer(group=GroupSettings("readers")) as consumer, pytest.raises(TypeError, match="pattern"):
            consumer.subscribe(topic)
        with blocking.consumer() as consumer, pytest.raises(TypeError, match="several partitions"):
            consumer.assign(TopicPartition(topic, 0))
