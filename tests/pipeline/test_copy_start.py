"""Where `ottla pipeline copy` starts: what it finds on a running server, without Spark."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from harness.transactions import NewProducer
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.pipeline.copy_start import CopyStart, find_start
from ottla.client import Client, GroupMetadata, TopicPartition
from ottla.client.sync import Client as BlockingClient

NAME_PREFIX = "copy-of-"


class Find(Protocol):
    def __call__(self, target: str, offsets: str | None = None) -> CopyStart: ...


@pytest.fixture
def source(new_topic: Callable[..., str]) -> str:
    return new_topic(2)


@pytest.fixture
def find(server: Server, source: str) -> Find:
    """The start of the copy of a topic."""

    async def ask(target: str, offsets: str | None) -> CopyStart:
        async with Client(server.bootstrap) as client:
            return await find_start(client, source, target, NAME_PREFIX + source, offsets)

    return lambda target, offsets=None: asyncio.run(ask(target, offsets))


@pytest.fixture
def client(server: Server) -> Iterator[BlockingClient]:
    with BlockingClient(server.bootstrap) as client:
        yield client


def test_a_new_copy_into_nothing_begins_at_the_beginning(
    find: Find, source: str, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    beginning = CopyStart(NAME_PREFIX + source, 2, has_begun=False, offsets="earliest")
    assert find(fresh_name()) == beginning
    assert find(new_topic()) == beginning


def test_into_a_topic_with_records_a_new_copy_begins_only_where_it_is_told_to(
    find: Find, new_topic: Callable[..., str], reference: ConfluentKafka, client: BlockingClient
) -> None:
    target = new_topic(2)
    reference.produce(target, [Record(b"other")], partition=1)
    with pytest.raises(CommandError, match=f"{target} has records") as refused:
        find(target)
    assert refused.value.code is ExitCode.CONFLICT
    assert find(target, "earliest").offsets == "earliest"
    assert find(target, "latest").offsets == "latest"
    # Not even when retention has left none of them.
    client.admin.delete_records({TopicPartition(target, 1): 1})
    with pytest.raises(CommandError, match=f"{target} has records"):
        find(target)


def test_a_copy_that_the_broker_has_forgotten_does_not_begin_again(
    find: Find, source: str, new_topic: Callable[..., str], reference: ConfluentKafka, client: BlockingClient
) -> None:
    target, name = new_topic(), NAME_PREFIX + source
    reference.produce(target, [Record(b"copied")])
    client.admin.alter_group_offsets(name, {TopicPartition(source, 0): 1})
    assert find(target) == CopyStart(name, 2, has_begun=True, offsets="earliest")
    client.admin.delete_groups([name])
    with pytest.raises(CommandError, match=f"no offsets of group {name}"):
        find(target)


def test_records_of_aborted_transactions_are_none(
    find: Find, new_topic: Callable[..., str], reference: ConfluentKafka, open_producer: NewProducer
) -> None:
    target = new_topic()
    producer = open_producer(reference)
    producer.begin()
    producer.send(target, 0, b"given up")
    producer.abort()
    assert not find(target).has_begun
    producer.begin()
    producer.send(target, 0, b"copied")
    producer.commit()
    with pytest.raises(CommandError, match=f"{target} has records"):
        find(target)


def test_a_copy_that_died_before_its_commit_is_found_at_once(
    find: Find, source: str, new_topic: Callable[..., str], client: BlockingClient
) -> None:
    group, partition = GroupMetadata(NAME_PREFIX + source), TopicPartition(source, 0)
    owner = client.transaction_owner(f"ottla-sink-{NAME_PREFIX}{source}", transaction_timeout_ms=300_000)
    owner.init()
    for offset in (5, 9):
        owner.begin()
        owner.hand_out()
        owner.send_offsets({partition: offset}, group)
        if offset == 5:
            owner.commit()
    assert find(new_topic()).has_begun
    owner.abort()
