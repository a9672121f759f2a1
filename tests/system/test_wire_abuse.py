"""Clients that are broken, slow, greedy or hostile, one test for each kind, against a real process.

Every test declares what becomes of the offender: closed, refused with a code, or answered as if nothing were odd. And
every test runs beside a client that behaves, which must keep being served, within a bound of its own on the memory
that the node takes: about twice what it needs, and far below what it would need to keep all it is sent or asked for.
"""

import asyncio
import contextlib
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol

import cramjam
import lz4.frame
import pytest
import zstandard

from harness.control_client import ControlClient
from harness.process_memory import forget_peak, peak_resident_bytes, resident_bytes
from harness.servers import OttlaServer
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.protocol.compression import Codec, compress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, BatchHeader, encode_batch

MEBIBYTE = 1024 * 1024
# Where a test says nothing else, it does nothing that would need memory.
GROWTH_BYTES_MAX = 32 * MEBIBYTE
TIMESTAMP = 1_700_000_000_000
PING = ApiVersionsRequest(client_software_name="probe", client_software_version="1")


class Attack:
    """Connections to a node, which all end with the scenario."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._clients: list[WireClient] = []

    async def connect(self) -> WireClient:
        client = await WireClient.connect(self._port)
        self._clients.append(client)
        return client

    async def is_served(self) -> None:
        """A newcomer is answered."""
        client = await WireClient.connect(self._port)
        assert (await client.call(PING)).error_code == 0
        await client.close()

    async def until_it_rests(self, look: Callable[[], object]) -> None:
        """Returns once nothing that `look` sees changes while newcomers are served: the node goes no further."""
        served = 0
        seen = look()
        while served < 20:
            await self.is_served()
            served += 1
            if seen != (seen := look()):
                served = 0

    async def create_topic(self, name: str, **configs: str) -> bytes:
        rows = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=rows)
        client = await self.connect()
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
        assert created.error_code == 0, created
        topic_id: bytes = created.topic_id
        return topic_id

    async def end(self) -> None:
        for client in self._clients:
            client.writer.transport.abort()
        for client in self._clients:
            with contextlib.suppress(OSError):
                await client.close()


Scenario = Callable[[Attack], Awaitable[None]]


class Play(Protocol):
    """Plays a scenario while the control client is served and the node's memory stays bounded."""

    def __call__(self, scenario: Scenario, growth_bytes_max: int = GROWTH_BYTES_MAX) -> None: ...


def attack(node: OttlaServer, scenario: Scenario) -> None:
    async def run() -> None:
        attacking = Attack(node.port)
        try:
            await scenario(attacking)
        finally:
            await attacking.end()

    asyncio.run(run())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OttlaServer]:
    server = OttlaServer(tmp_path_factory.mktemp("abused"), {"offsets.topic.num.partitions": "2"})
    server.start()
    yield server
    assert server.stop() == 0
    assert "Traceback" not in server.output.read_text()


@pytest.fixture
def play(node: OttlaServer) -> Play:
    def run(scenario: Scenario, growth_bytes_max: int = GROWTH_BYTES_MAX) -> None:
        before = resident_bytes(node.pid)
        forget_peak(node.pid)
        with ControlClient(node.bootstrap):
            attack(node, scenario)
        growth = peak_resident_bytes(node.pid) - before
        assert growth < growth_bytes_max

    return run


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def header(api_key: int, version: int, *, is_flexible: bool = True) -> bytes:
    return struct.pack(">hhih", api_key, version, 1, -1) + (b"\0" if is_flexible else b"")


def uvarint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


# -- what is not this protocol, or not quite --------------------------------------------------------------------------

LIMIT = 104_857_600
METADATA = header(3, 13)
METADATA_TAIL = b"\1\0\0"  # auto creation, topic operations, no tags
CLOSED_AT_ONCE = {
    "length -1": struct.pack(">i", -1),
    "length -2147483648": struct.pack(">i", -(2**31)),
    "length 2147483647": struct.pack(">i", 2**31 - 1),
    "length one above socket.request.max.bytes": struct.pack(">i", LIMIT + 1),
    "length 0": struct.pack(">i", 0),
    "length one short of the request": struct.pack(">i", len(METADATA) + 3) + METADATA + b"\1" + METADATA_TAIL,
    "half a header": framed(METADATA[:5]),
    "a client id that ends behind the frame": framed(struct.pack(">hhih", 3, 13, 1, 500)),
    "a client id of length -2": framed(struct.pack(">hhih", 3, 13, 1, -2)),
    "a client id that is not UTF-8": framed(struct.pack(">hhih", 3, 13, 1, 2) + b"\xff\xfe\0\1" + METADATA_TAIL),
    "an unknown API key": framed(header(999, 0)),
    "a negative API key": framed(header(-1, 0)),
    "an API that brokers do not serve to clients": framed(header(52, 0)),
    "an unknown version": framed(header(3, 99)),
    "a negative version": framed(header(3, -1)),
    "a removed version": framed(header(0, 2, is_flexible=False)),
    "HTTP": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(500),
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a million header tags": framed(struct.pack(">hhih", 3, 13, 1, -1) + uvarint(10**6) + bytes(2 * 10**6)),
    "duplicate header tags": framed(struct.pack(">hhih", 3, 13, 1, -1) + b"\2\5\0\5\0" + b"\1" + METADATA_TAIL),
    "descending header tags": framed(struct.pack(">hhih", 3, 13, 1, -1) + b"\2\6\0\5\0" + b"\1" + METADATA_TAIL),
    "duplicate body tags": framed(METADATA + b"\1\1\0" + b"\2\7\0\7\0"),
    "descending body tags": framed(METADATA + b"\1\1\0" + b"\2\7\0\6\0"),
    "a tag that ends behind the frame": framed(METADATA + b"\1\1\0" + b"\1\7\x7f"),
    "two billion topics": framed(METADATA + uvarint(2**31 - 1) + bytes(100)),
    "more topics than bytes": framed(METADATA + uvarint(1001) + bytes(900)),
    "an overlong varint": framed(METADATA + b"\xff" * 9 + b"\1" + METADATA_TAIL),
    "a truncated varint": framed(METADATA + b"\xff"),
    "a topic name that is not UTF-8": framed(METADATA + b"\2" + bytes(16) + b"\3\xc3\x28\0" + METADATA_TAIL),
    "a topic name that ends behind the frame": framed(METADATA + b"\2" + bytes(16) + b"\x7fabc"),
    "null where null is not allowed": framed(header(19, 7) + b"\0" + struct.pack(">i", 1000) + b"\0\0"),
    "a negative count": framed(header(3, 8, is_flexible=False) + struct.pack(">i", -2)),
}


@pytest.mark.parametrize("what", CLOSED_AT_ONCE)
def test_nonsense_costs_its_sender_the_connection(node: OttlaServer, what: str) -> None:
    async def scenario(attacking: Attack) -> None:
        client = await attacking.connect()
        client.writer.write(CLOSED_AT_ONCE[what])
        assert await client.is_closed_by_peer()
        await client.close()
        await attacking.is_served()

    attack(node, scenario)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(node: OttlaServer) -> None:
    async def scenario(attacking: Attack) -> None:
        client = await attacking.connect()
        client.send_frame(header(18, 77) + b"whatever a future version holds")
        _, error_code = struct.unpack_from(">ih", await client.receive_frame())
        assert error_code == ErrorCode.UNSUPPORTED_VERSION
        assert (await client.call(PING)).error_code == 0

    attack(node, scenario)


def test_clients_that_vanish_in_the_middle_of_a_frame_leave_nothing_behind(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        whole = framed(METADATA + b"\1" + METADATA_TAIL)
        for length in [*range(1, len(whole)), *range(1, len(whole))]:
            client = await attacking.connect()
            client.writer.write(whole[:length])
            await client.writer.drain()
            if length % 2:
                client.writer.transport.abort()
            else:
                await client.close()

    play(scenario)


# -- greed ------------------------------------------------------------------------------------------------------------


def test_requests_without_reading_the_answers_stop_at_a_bound(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        request = framed(METADATA + b"\0" + METADATA_TAIL)
        greedy = [await attacking.connect() for _ in range(8)]
        for client in greedy:
            # What the node does not take stays here, and not in the kernel.
            client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            client.writer.write(request * 200_000)

        def untaken_bytes() -> list[int]:
            return [client.writer.transport.get_write_buffer_size() for client in greedy]

        await attacking.until_it_rests(untaken_bytes)
        assert min(untaken_bytes()) > 0

    play(scenario, 128 * MEBIBYTE)


def test_large_answers_that_nobody_reads_stop_at_a_bound(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        topic_id = await attacking.create_topic("large", max_message_bytes="20000000")
        producer = await attacking.connect()
        for _ in range(3):
            sent = await producer.call(produce(topic_id, batch(Codec.NONE, record(bytes(18 * MEBIBYTE)))))
            assert sent.responses[0].partition_responses[0].error_code == 0
        row = FetchPartition(partition=0, partition_max_bytes=2**31 - 1)
        wanted = FetchTopic(topic_id=topic_id, partitions=[row])
        fetch = FetchRequest(topics=[wanted], max_wait_ms=0, min_bytes=1, max_bytes=2**31 - 1, session_epoch=-1)
        greedy = [await attacking.connect() for _ in range(60)]
        for client in greedy:
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            client.send(fetch, 18)
            client.send(fetch, 18)
        await attacking.until_it_rests(lambda: resident_bytes(node.pid) // (4 * MEBIBYTE))

    play(scenario, 700 * MEBIBYTE)


def test_announcing_large_requests_and_sending_none_takes_no_memory(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        clients = [await attacking.connect() for _ in range(1_000)]
        for client in clients:
            client.writer.write(struct.pack(">i", LIMIT) + b"\0\0")
        for _ in range(10):
            await attacking.is_served()

    play(scenario, 200 * MEBIBYTE)


def test_a_fetch_of_a_hundred_thousand_partitions_is_answered(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        topic_id = await attacking.create_topic("one-partition")
        rows = [FetchPartition(partition=index, partition_max_bytes=1000) for index in range(100_000)]
        request = FetchRequest(
            topics=[FetchTopic(topic_id=topic_id, partitions=rows)],
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1000,
            session_epoch=-1,
        )
        client = await attacking.connect()
        (answered,) = (await client.call(request)).responses
        codes = [row.error_code for row in answered.partitions]
        assert codes == [0, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 99_999]

    play(scenario, 160 * MEBIBYTE)


def test_a_member_with_ten_megabytes_of_metadata_is_a_member_like_any(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        client = await attacking.connect()
        await client.call(FindCoordinatorRequest(key="", key_type=0, coordinator_keys=["large-group"]))
        request = JoinGroupRequest(
            group_id="large-group",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(10_000_000))],
        )
        joined = await client.call(request)
        while joined.error_code in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            request.member_id = joined.member_id
            joined = await client.call(request)
        assert joined.error_code == 0
        assert joined.leader == joined.member_id

    play(scenario, 80 * MEBIBYTE)


def test_metadata_of_an_offset_has_a_limit(node: OttlaServer, play: Play) -> None:
    async def scenario(attacking: Attack) -> None:
        topic_id = await attacking.create_topic("committed")
        client = await attacking.connect()
        await client.call(FindCoordinatorRequest(key="", key_type=0, coordinator_keys=["notes"]))
        codes = []
        for size in (4096, 4097, 30_000):
            row = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="x" * size)
            topic = OffsetCommitRequestTopic(topic_id=topic_id, partitions=[row])
            request = OffsetCommitRequest(group_id="notes", generation_id_or_member_epoch=-1, topics=[topic])
            answer = await client.call(request)
            codes.append(answer.topics[0].partitions[0].error_code)
        assert codes == [0, ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.OFFSET_METADATA_TOO_LARGE]

    play(scenario)


# -- names ------------------------------------------------------------------------------------------------------------


def test_topic_names_that_are_paths_or_worse_are_refused_and_touch_no_file(node: OttlaServer, play: Play) -> None:
    names = ["", ".", "..", "a/b", "../escaped", "/etc", "nul\0", "x" * 250, "sp ace", "über", "a\nb", "a\\b", "a:b"]

    async def scenario(attacking: Attack) -> None:
        client = await attacking.connect()
        topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
        created = await client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        assert {row.name: row.error_code for row in created.topics} == dict.fromkeys(
            names, ErrorCode.INVALID_TOPIC_EXCEPTION
        )
        asked = [MetadataRequestTopic(name=name) for name in names]
        found = await client.call(MetadataRequest(topics=asked, allow_auto_topic_creation=True))
        assert {row.error_code for row in found.topics} == {ErrorCode.INVALID_TOPIC_EXCEPTION}

    before = listing(node.data.parent)
    play(scenario)
    # The control client beside the attack has its own topic, and the offsets of its group.
    new = {path.name for path in listing(node.data.parent) - before}
    assert {name for name in new if "control" not in name and not name.startswith("__consumer_offsets-")} == set()


def listing(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_dir()}


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_clients_do_not_write_into_internal_topics(node: OttlaServer, play: Play, topic: str) -> None:
    async def scenario(attacking: Attack) -> None:
        client = await attacking.connect()
        await client.call(FindCoordinatorRequest(key="", key_type=0, coordinator_keys=["any"]))
        records = batch(Codec.NONE, record(b"forged"))
        row = PartitionProduceData(index=0, records=records)
        request = ProduceRequest(
            acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[row])]
        )
        answer = await client.call(request, version=12)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION

    play(scenario)


# -- compression bombs ------------------------------------------------------------------------------------------------


def record(value: bytes) -> bytes:
    """One record in a batch's own encoding."""
    fields = b"\0\0\0" + b"\2k" + zigzag(len(value)) + value + b"\0"
    return zigzag(len(fields)) + fields


def zigzag(value: int) -> bytes:
    return uvarint(value << 1)


def batch(codec: Codec, payload: bytes) -> bytes:
    """A batch of one record around a payload that is already in the codec's form."""
    fields = BatchHeader(
        0, 0, -1, 2, 0, codec, 0, TIMESTAMP, TIMESTAMP, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, 1
    )
    return bytes(encode_batch(fields, payload))


def produce(topic_id: bytes, records: bytes) -> ProduceRequest:
    row = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(topic_id=topic_id, partition_data=[row])
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


def gzip_bomb() -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeroes = bytes(16 * MEBIBYTE)
    return b"".join(deflater.compress(zeroes) for _ in range(40)) + deflater.flush()


def gzip_members() -> bytes:
    """No growth, but far more members than any producer writes."""
    return compress(Codec.GZIP, b"") * 45_000


def raw_snappy_bomb() -> bytes:
    """A block that announces four gigabytes (CVE-2023-34455)."""
    return uvarint(2**32 - 1) + bytes(1000)


def framed_snappy_bomb() -> bytes:
    block = bytes(cramjam.snappy.compress_raw(bytes(15 * MEBIBYTE // 4)))
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + (struct.pack(">i", len(block)) + block) * 5


def framed_snappy_lie() -> bytes:
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 2**31 - 1) + bytes(1000)


def lz4_bomb() -> bytes:
    return bytes(lz4.frame.compress(bytes(220 * MEBIBYTE), compression_level=0))


def zstd_bomb() -> bytes:
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    zeroes = bytes(16 * MEBIBYTE)
    return b"".join(compressor.compress(zeroes) for _ in range(200)) + compressor.flush()


def zstd_window() -> bytes:
    """A frame that asks for a window of two gigabytes before its first byte."""
    return b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([21 << 3]) + b"\x01\x00\x00"


BOMBS: dict[str, tuple[Codec, Callable[[], bytes], set[ErrorCode]]] = {
    "gzip": (Codec.GZIP, gzip_bomb, {ErrorCode.MESSAGE_TOO_LARGE}),
    "gzip of countless members": (Codec.GZIP, gzip_members, {ErrorCode.CORRUPT_MESSAGE}),
    "snappy, raw": (Codec.SNAPPY, raw_snappy_bomb, {ErrorCode.MESSAGE_TOO_LARGE}),
    "snappy, framed": (Codec.SNAPPY, framed_snappy_bomb, {ErrorCode.CORRUPT_MESSAGE}),
    "snappy, framed, with a lie": (Codec.SNAPPY, framed_snappy_lie, {ErrorCode.CORRUPT_MESSAGE}),
    "lz4": (Codec.LZ4, lz4_bomb, {ErrorCode.MESSAGE_TOO_LARGE}),
    "zstd": (Codec.ZSTD, zstd_bomb, {ErrorCode.MESSAGE_TOO_LARGE}),
    "zstd with a huge window": (Codec.ZSTD, zstd_window, {ErrorCode.CORRUPT_MESSAGE}),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_compression_bomb_is_refused_where_it_has_to_be_opened(node: OttlaServer, play: Play, what: str) -> None:
    codec, make, codes = BOMBS[what]
    payload = make()
    assert len(payload) < MEBIBYTE, "or it would be refused for its own size"

    async def scenario(attacking: Attack) -> None:
        topic_id = await attacking.create_topic(f"compacted-{abs(zlib.crc32(what.encode()))}", cleanup_policy="compact")
        senders = [await attacking.connect() for _ in range(4)]
        answers = await asyncio.gather(*(sender.call(produce(topic_id, batch(codec, payload))) for sender in senders))
        assert {answer.responses[0].partition_responses[0].error_code for answer in answers} == codes

    play(scenario, 320 * MEBIBYTE)


@pytest.mark.parametrize("what", BOMBS)
def test_a_compression_bomb_that_was_stored_unopened_hurts_nobody_who_asks_for_its_time(
    node: OttlaServer, play: Play, what: str
) -> None:
    codec, make, _ = BOMBS[what]
    payload = make()

    async def scenario(attacking: Attack) -> None:
        topic = f"stored-{abs(zlib.crc32(what.encode()))}"
        topic_id = await attacking.create_topic(topic)
        client = await attacking.connect()
        answer = await client.call(produce(topic_id, batch(codec, payload)))
        assert answer.responses[0].partition_responses[0].error_code == 0
        row = ListOffsetsPartition(partition_index=0, timestamp=TIMESTAMP - 1)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[row])])

        async def ask() -> int:
            return (await client.call(request)).topics[0].partitions[0].error_code

        # A client asks again while the thread that searches is still busy with the bomb before.
        code = await eventually_async(ask, lambda code: code != ErrorCode.REQUEST_TIMED_OUT)
        assert code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE)

    play(scenario, 600 * MEBIBYTE)
