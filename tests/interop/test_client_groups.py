"""Members of ours and of librdkafka in the same groups."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record as Sent
from harness.servers import Server
from harness.taking import take
from harness.waiting import eventually
from ottla.client import (
    Client,
    ClientSettings,
    ConsumerSettings,
    GroupSettings,
    NewTopic,
    OffsetReset,
    Record,
    TopicPartition,
    sync,
    sync_consumer,
)
from ottla.client.assignors import COOPERATIVE_STICKY, RANGE, Assignor

FROM_THE_START = ConsumerSettings(offset_reset=OffsetReset.EARLIEST)


@pytest.fixture
def client(server: Server) -> Iterator[sync.Client]:
    with sync.Client(server.bootstrap) as opened:
        yield opened


class OurMember:
    """A member of ours that polls in the background."""

    def __init__(
        self,
        client: sync.Client,
        topic: str | re.Pattern[str],
        group: str,
        assignor: Assignor,
        instance_id: str | None = None,
    ) -> None:
        settings = GroupSettings(group, instance_id, (assignor,), session_timeout_ms=10_000, heartbeat_interval_ms=200)
        self.records: list[Record] = []
        self.events: list[tuple[str, frozenset[int]]] = []
        self._consumer = client.consumer(FROM_THE_START, settings)
        self._consumer.subscribe([topic] if isinstance(topic, str) else topic, _Listening(self.events))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._closing.is_set():
            self.records += self._consumer.poll(100)
        self._consumer.close()

    def assignment(self) -> frozenset[int]:
        return frozenset(partition.partition for partition in self._consumer.assignment)

    def revoked(self) -> list[frozenset[int]]:
        return [partitions for what, partitions in self.events if what == "revoked"]

    def close(self) -> None:
        self._closing.set()
        self._thread.join()


class _Listening(sync_consumer.RebalanceListener):
    def __init__(self, events: list[tuple[str, frozenset[int]]]) -> None:
        self._events = events

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self._events.append(("assigned", frozenset(partition.partition for partition in partitions)))

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self._events.append(("revoked", frozenset(partition.partition for partition in partitions)))


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """Closes members that a failing test leaves open."""
    with ExitStack() as stack:
        yield stack


def shares(*members: object) -> Callable[[], list[int]]:
    """The sizes of the members' shares once they hold all six partitions, each one once."""

    def look() -> list[int]:
        held = [member.assignment() for member in members]  # type: ignore[attr-defined]
        is_whole = sorted(partition for share in held for partition in share) == list(range(6))
        return [len(share) for share in held] if is_whole else []

    return look


@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY], ids=lambda assignor: assignor.name)
def test_a_group_of_ours_and_librdkafkas_shares_the_work(
    assignor: Assignor,
    client: sync.Client,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    closing: ExitStack,
) -> None:
    topic = new_topic(6)
    first = OurMember(client, topic, topic, assignor)
    closing.callback(first.close)
    assert eventually(shares(first)) == [6]
    theirs = reference.member(topic, topic, cooperative=assignor.is_cooperative)
    eventually(shares(first, theirs), lambda sizes: sizes == [3, 3])
    closing.callback(theirs.close)
    second = OurMember(client, topic, topic, assignor)
    closing.callback(second.close)
    eventually(shares(first, theirs, second), lambda sizes: sizes == [2, 2, 2])
    if assignor.is_cooperative:
        assert all(len(revoked) < 6 for revoked in first.revoked()), "partitions that stay are not given back"
    else:
        assert first.revoked()[0] == frozenset(range(6))
    theirs.close()
    eventually(shares(first, second), lambda sizes: sizes == [3, 3])
    for partition in range(6):
        reference.produce(topic, [Sent(b"%d" % partition)] * 5, partition=partition)
    eventually(lambda: len(first.records) + len(second.records), lambda count: count >= 30)
    assert len(first.records) == len(second.records) == 15
    second.close()
    eventually(shares(first), lambda sizes: sizes == [6])
    described = client.admin.describe_groups([topic])[topic]
    assert (described.state, described.assignor, len(described.members)) == ("Stable", assignor.name, 1)
    assert len(described.members[0].assignment) == 6
    committed = client.admin.list_group_offsets(topic)
    assert sum(offset.offset for offset in committed.values()) >= 15


def test_a_static_member_returns_to_its_partitions(
    client: sync.Client, new_topic: Callable[..., str], closing: ExitStack
) -> None:
    topic = new_topic(6)
    stays, goes = (OurMember(client, topic, topic, RANGE, name) for name in ("stays", "goes"))
    closing.callback(stays.close)
    closing.callback(goes.close)
    eventually(shares(stays, goes), lambda sizes: sizes == [3, 3])
    held, revocations = goes.assignment(), len(stays.revoked())
    goes.close()
    back = OurMember(client, topic, topic, RANGE, "goes")
    closing.callback(back.close)
    eventually(back.assignment, lambda partitions: partitions == held)
    assert len(stays.revoked()) == revocations
    removed = client.admin.remove_members(topic, instance_ids=["goes"], reason="test")
    assert [(member.instance_id, member.error) for member in removed] == [("goes", None)]


def test_a_group_goes_on_where_another_client_stopped(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Sent(b"%d" % number) for number in range(10)])
    assert len(reference.consume(topic, topic, 4)) == 4
    with client.consumer(FROM_THE_START, GroupSettings(topic)) as consumer:
        consumer.subscribe([topic])
        assert [record.value for record in take(consumer, 3)] == [b"4", b"5", b"6"]
    assert [received.record.value for received in reference.consume(topic, topic, 3)] == [b"7", b"8", b"9"]


def test_a_pattern_finds_topics_that_come_later(server: Server, new_topic: Callable[..., str]) -> None:
    prefix = new_topic()
    settings = ClientSettings(metadata_max_age_ms=200)

    async def main() -> None:
        async with (
            Client(server.bootstrap, settings) as client,
            client.consumer(None, GroupSettings(prefix)) as consumer,
        ):
            consumer.subscribe(re.compile(f"{prefix}.*"))
            while not consumer.assignment:
                await consumer.poll(100)
            await client.admin.create_topics([NewTopic(f"{prefix}-later", 1)])
            while len(consumer.assignment) < 2:
                await consumer.poll(100)
            assert {partition.topic for partition in consumer.assignment} == {prefix, f"{prefix}-later"}

    asyncio.run(main())
