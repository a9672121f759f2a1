"""Topics that come into being because a client asked for them: what the first question hears, and the next ones."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from harness.clients.catalogue import clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Record
from harness.command_line import CommandLine
from harness.servers import Server
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponseTopic

Ask = Callable[..., Awaitable[list[MetadataResponseTopic]]]
Play = Callable[[Callable[[Ask], Awaitable[None]]], None]


@pytest.fixture
def play(server: Server) -> Play:
    def run(scenario: Callable[[Ask], Awaitable[None]]) -> None:
        async def connect_and_run() -> None:
            client = await WireClient.connect(server.port)

            async def ask(*names: str, version: int = 13, allows: bool = True) -> list[MetadataResponseTopic]:
                rows = [MetadataRequestTopic(name=name) for name in names]
                request = MetadataRequest(topics=rows, allow_auto_topic_creation=allows)
                topics: list[MetadataResponseTopic] = (await client.call(request, version)).topics
                return topics

            try:
                await scenario(ask)
            finally:
                await client.close()

        asyncio.run(connect_and_run())

    return run


@pytest.mark.parametrize("version", [0, 1, 3, 4, 8, 9, 12, 13])
def test_the_request_that_creates_a_topic_hears_that_it_is_unknown_and_later_ones_find_it(
    play: Play, fresh_name: Callable[[], str], version: int
) -> None:
    name = fresh_name()

    async def scenario(ask: Ask) -> None:
        (first,) = await ask(name, version=version)
        assert (first.name, first.error_code) == (name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert not first.partitions
        assert not first.is_internal

        async def again() -> MetadataResponseTopic:
            (row,) = await ask(name, version=version)
            assert row.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return row

        found = await eventually_async(again, lambda row: row.error_code == ErrorCode.NONE)
        assert len(found.partitions) == 4

    play(scenario)


def test_a_client_that_forbids_it_creates_nothing(play: Play, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()

    async def scenario(ask: Ask) -> None:
        for _ in range(3):
            (row,) = await ask(name, allows=False)
            assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    play(scenario)


@pytest.mark.parametrize("allows", [True, False])
def test_names_that_cannot_be_are_invalid_and_one_that_is_asked_for_twice_is_answered_once(
    play: Play, fresh_name: Callable[[], str], allows: bool
) -> None:
    name = fresh_name()
    invalid = ["", ".", "sp ace", "x" * 250]

    async def scenario(ask: Ask) -> None:
        rows = await ask(name, *invalid, name, allows=allows)
        codes = {row.name: row.error_code for row in rows}
        assert len(rows) == len(codes)
        assert codes.pop(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes == dict.fromkeys(invalid, ErrorCode.INVALID_TOPIC_EXCEPTION)

    play(scenario)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_asking_for_the_topic_of_a_coordinator_makes_it(play: Play, name: str) -> None:
    async def scenario(ask: Ask) -> None:
        async def again() -> MetadataResponseTopic:
            (row,) = await ask(name)
            assert row.is_internal
            return row

        found = await eventually_async(again, lambda row: row.error_code == ErrorCode.NONE)
        assert len(found.partitions) == 50

    play(scenario)


def test_the_metadata_log_is_no_topic(play: Play) -> None:
    async def scenario(ask: Ask) -> None:
        for _ in range(2):
            (row,) = await ask("__cluster_metadata")
            assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    play(scenario)


@clients_with()
def test_every_client_produces_into_a_topic_that_is_not_there_yet(
    client: Client, reference: ConfluentKafka, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name()
    client.produce(topic, [Record(b"first"), Record(b"second")])
    assert [one.record.value for one in reference.read(topic, 0, 0, 2)] == [b"first", b"second"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("produce", "TOPIC", __file__),
        ("perf", "produce", "TOPIC", "-n", "5"),
        ("perf", "produce", "TOPIC", "-n", "5", "--ready-batches"),
        ("perf", "e2e", "TOPIC", "-n", "5"),
    ],
)
def test_the_command_line_produces_into_a_topic_that_is_not_there_yet(
    ottla: CommandLine, reference: ConfluentKafka, fresh_name: Callable[[], str], arguments: tuple[str, ...]
) -> None:
    topic = fresh_name()
    done = ottla(*(topic if argument == "TOPIC" else argument for argument in arguments))
    assert done.code == 0, done
    assert sum(reference.end_offset(topic, partition) for partition in range(4)) >= 1
