"""Two ways to serve a Produce request, and one outcome: the same answers, byte for byte, and the same logs.

The same requests go to two nodes, many of them at once. One of the nodes serves the straight way what it can; the other
gives every request to the handler. Their clocks stand still, so that nothing else can differ but the ids of topics.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wire import WireClient, framed_request
from ottla.broker.host import Machine
from ottla.broker.node import Node
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

NOW_MS = 1_700_000_000_000
PARTITIONS = 2
LAST = -1
SETTINGS = {
    "plain": {},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "keyed": {"cleanup.policy": "compact"},
    "small": {"segment.bytes": str(1024 * 1024), "max.message.bytes": "400", "flush.messages": "3"},
}


class StoppedClock(Machine):
    def now_ms(self) -> int:
        return NOW_MS


class Form(NamedTuple):
    """What a producer's requests have in common."""

    topic: str
    index: int
    acks: int
    timeout_ms: int
    version: int


Request: TypeAlias = tuple[Form, bytes]


def plain_batch(size: int, **producer: int) -> bytes:
    builder = BatchBuilder(**producer)  # type: ignore[arg-type]
    for number in range(size % 3 + 1):
        builder.append(None, bytes(size), timestamp_ms=NOW_MS + number)
    return bytes(builder.build())


def idempotent_batch(producer_id: int, epoch: int, sequence: int) -> bytes:
    return plain_batch(3, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def damaged(batch: bytes, position: int) -> bytes:
    broken = bytearray(batch)
    broken[position] ^= 1
    return bytes(broken)


USUAL = st.integers(0, 300).map(plain_batch)
UNUSUAL = st.one_of(
    st.builds(idempotent_batch, st.integers(1, 2), st.integers(0, 1), st.integers(0, 4)),
    st.sampled_from([plain_batch(10, is_transactional=True), b"", plain_batch(1) * 2]),
    st.integers(0, 60).map(lambda position: damaged(plain_batch(5), position)),
)
FORMS = st.builds(
    Form,
    topic=st.sampled_from(["plain", *SETTINGS, "__consumer_offsets", "missing"]),
    index=st.sampled_from([0, 0, 1, PARTITIONS]),
    acks=st.sampled_from([1, 1, -1, -1, 0, 2]),
    timeout_ms=st.sampled_from([30_000, 30_001]),
    version=st.integers(8, 13),
)
ORDINARY_FORMS = st.builds(
    Form,
    topic=st.sampled_from(["plain", "plain", "small"]),
    index=st.integers(0, PARTITIONS - 1),
    acks=st.sampled_from([1, 1, -1, -1, 0, 2]),
    timeout_ms=st.sampled_from([30_000, 30_001]),
    version=st.sampled_from([9, 13]),
)


@st.composite
def repetitive_requests(draw: st.DrawFn) -> list[Request]:
    """Of a few producers, each of which repeats itself, and counts its batches if it is idempotent."""
    forms = draw(st.lists(ORDINARY_FORMS, min_size=1, max_size=3))
    sequences: Counter[tuple[str, int]] = Counter()
    requests = []
    is_idempotent = draw(st.booleans())
    for _ in range(draw(st.integers(5, 60))):
        form = draw(st.sampled_from(forms))
        if draw(st.integers(0, 9)) == 0:
            batch = draw(UNUSUAL)
        elif is_idempotent:
            batch = idempotent_batch(1, 0, sequences[form[:2]])
            sequences[form[:2]] += 1
        else:
            batch = draw(USUAL)
        requests.append((form, batch))
    return requests


class Side:
    """One of the nodes, and what was said to it."""

    def __init__(self, node: Node, *, is_straight: bool) -> None:
        self.node = node
        self.straight_count = 0
        assert node.broker is not None
        dispatcher = node.broker.dispatcher
        serve = dispatcher.dispatch_run

        def counted(*arguments):  # type: ignore[no-untyped-def]
            answers = serve(*arguments) if is_straight else []
            self.straight_count += sum(answer is not None for answer in answers)
            return answers

        dispatcher.dispatch_run = counted  # type: ignore[method-assign]
        self._topic_ids: dict[str, bytes] = {}

    async def create(self, names: dict[str, dict[str, str]]) -> None:
        client = await WireClient.connect(self.node.acceptors[0].port)
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=PARTITIONS,
                replication_factor=1,
                configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
            for name, configs in names.items()
        ]
        created = (await client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000))).topics
        assert {row.error_code for row in created} == {0}
        self._topic_ids = {row.name: row.topic_id for row in created}
        await client.close()

    async def exchange(self, requests: list[Request], names: dict[str, str]) -> list[bytes]:
        """All requests in one go; the answers up to the one that says that these were all, or to the end."""
        client = await WireClient.connect(self.node.acceptors[0].port)
        client.writer.write(b"".join(self._on_wire(number, one, names) for number, one in enumerate(requests)))
        client.writer.write(framed_request(ApiVersionsRequest(), 0, LAST))
        answers: list[bytes] = []
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while not answers or struct.unpack_from(">i", answers[-1])[0] != LAST:
                answers.append(self._without_ids(await client.receive_frame()))
        await client.close()
        return answers

    def _on_wire(self, number: int, request: Request, names: dict[str, str]) -> bytes:
        form, records = request
        name = names.get(form.topic, form.topic)
        topic_id = self._topic_ids.get(name, b"no topic has me!")
        data = [PartitionProduceData(index=form.index, records=records)]
        named = {"topic_id": topic_id} if form.version >= 13 else {"name": name}
        message = ProduceRequest(
            acks=form.acks,
            timeout_ms=form.timeout_ms,
            topic_data=[TopicProduceData(partition_data=data, **named)],
        )
        return framed_request(message, form.version, number)

    def _without_ids(self, answer: bytes) -> bytes:
        for name, topic_id in self._topic_ids.items():
            answer = answer.replace(topic_id, name.ljust(16, "-").encode())
        return answer

    def logs(self) -> dict[tuple[str, int], tuple[int, int, int, list[bytes], list[tuple[int, int]]]]:
        found = {}
        for name in self._topic_ids:
            for index in range(PARTITIONS):
                log = self.node.replicas.partition(name, index).log
                producers = sorted((one.producer_id, one.last_sequence) for one in log.producer_states())
                files = [segment.path.read_bytes() for segment in log.segments]
                found[name, index] = log.log_start_offset, log.high_watermark, log.log_end_offset, files, producers
        return found


class Sides:
    """Both nodes in one event loop."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._runner = asyncio.Runner()
        self.straight, self.general = (
            Side(self._runner.run(self._start(name)), is_straight=name == "straight")
            for name in ("straight", "general")
        )
        self._example = 0

    async def _start(self, name: str) -> Node:
        properties = single_node_defaults(self._home / name, "127.0.0.1:0") | {"offsets.topic.num.partitions": "1"}
        node = Node(BrokerConfig(properties), host=StoppedClock())
        await node.start()
        return node

    def compare(self, requests: list[Request]) -> None:
        self._example += 1
        names = {name: f"{name}-{self._example}" for name in SETTINGS}
        self._runner.run(self._compare(requests, names))

    async def _compare(self, requests: list[Request], names: dict[str, str]) -> None:
        said = []
        for side in (self.straight, self.general):
            await side.create({names[name]: configs for name, configs in SETTINGS.items()})
            said.append(await side.exchange(requests, names))
        assert said[0] == said[1]
        assert self.straight.logs() == self.general.logs()

    def close(self) -> None:
        for side in (self.straight, self.general):
            self._runner.run(side.node.stop())
        self._runner.close()


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    both = Sides(tmp_path_factory.mktemp("nodes"))
    yield both
    both.close()
    assert (both.straight.straight_count > 0, both.general.straight_count) == (True, 0)


@settings(max_examples=40)
@given(requests=st.lists(st.tuples(FORMS, st.one_of(USUAL, UNUSUAL)), min_size=1, max_size=30))
def test_any_requests_have_one_outcome_whichever_way_they_are_served(sides: Sides, requests: list[Request]) -> None:
    sides.compare(requests)


@settings(max_examples=60)
@given(requests=repetitive_requests())
def test_repetitive_requests_have_one_outcome_whichever_way_they_are_served(
    sides: Sides, requests: list[Request]
) -> None:
    sides.compare(requests)
