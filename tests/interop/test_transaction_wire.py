"""Transactions request by request: what no client library does, and what must hold all the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Record
from harness.servers import Server
from harness.transaction_states import begun, begun_in_the_old_way, empty
from harness.transaction_wire import LAST_EPOCH, Identity, TransactionWire, name_of
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.protocol.messages import add_partitions_to_txn_request as adding
from ottla.protocol.messages import describe_producers_request as describing
from ottla.protocol.messages import fetch_request as fetching
from ottla.protocol.messages import list_offsets_request as listing
from ottla.protocol.messages import offset_fetch_request as offsets
from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest

Scenario = Callable[[TransactionWire, str], Awaitable[None]]
Play = Callable[[Scenario], None]


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[TransactionWire]:
    client = await WireClient.connect(port)
    try:
        yield TransactionWire(client)
    finally:
        await client.close()


@pytest.fixture
def topic(reference: ConfluentKafka, new_topic: Callable[..., str]) -> str:
    """Four partitions, all of which have taken a record: nobody is told to wait for a leader."""
    name = new_topic(4)
    for partition in range(4):
        reference.produce(name, [Record(b"first")], partition=partition)
    return name


@pytest.fixture
def play(server: Server, topic: str) -> Play:
    def run(scenario: Scenario) -> None:
        async def connect_and_run() -> None:
            async with connected(server.port) as wire:
                await scenario(wire, topic)

        asyncio.run(connect_and_run())

    return run


def committed_values(reference: ConfluentKafka, topic: str, partition: int, count: int) -> list[bytes | None]:
    return [one.record.value for one in reference.read(topic, partition, 1, count, isolation=COMMITTED)]


class TestFindingTheCoordinator:
    @pytest.mark.parametrize("version", range(1, 7))
    def test_every_id_has_one_even_the_empty_one(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            assert await wire.find_coordinator("anything", version) == "NONE"
            assert await wire.find_coordinator("", version) == "NONE"

        play(scenario)

    @pytest.mark.parametrize("version", range(1, 7))
    def test_a_type_that_does_not_exist_is_refused(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            for key_type in (-1, 3):
                assert await wire.find_coordinator("anything", version, key_type=key_type) == "INVALID_REQUEST"

        play(scenario)


class TestInitialising:
    @pytest.mark.parametrize("version", range(6))
    def test_a_timeout_is_above_zero_and_not_above_the_servers(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await wire.start(topic)
            for timeout_ms in (-1, 0, 900_001):
                error, _ = await wire.init(topic, version, timeout_ms=timeout_ms)
                assert error == "INVALID_TRANSACTION_TIMEOUT"
            assert (await wire.init(topic, version, timeout_ms=900_000))[0] == "NONE"

        play(scenario)

    @pytest.mark.parametrize("version", range(6))
    def test_without_an_id_every_answer_is_a_new_producer_and_the_timeout_does_not_matter(
        self, play: Play, version: int
    ) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await wire.start(topic)
            current = Identity("", 77, 3) if version >= 3 else None
            answers = [await wire.init(None, version, timeout_ms=0, current=current) for _ in range(2)]
            assert [(error, identity.epoch) for error, identity in answers] == [("NONE", 0), ("NONE", 0)]
            assert answers[0][1].producer_id < answers[1][1].producer_id

        play(scenario)

    @pytest.mark.parametrize("version", [3, 4, 5])
    def test_a_producer_id_and_an_epoch_come_together(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await wire.start(topic)
            for producer_id, epoch in ((77, -1), (-1, 3)):
                error, _ = await wire.init(topic, version, current=Identity("", producer_id, epoch))
                assert error == "INVALID_REQUEST"

        play(scenario)

    def test_epochs_that_run_out_go_on_with_a_new_producer_id(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await wire.start(topic)
            first_id = identity.producer_id
            await wire.exhaust_epochs(topic, LAST_EPOCH - 3)
            identity = identity.with_epoch(LAST_EPOCH - 3)
            seen = []
            for number in range(4):
                await wire.write(identity, topic, 0, 0, b"%d" % number)
                error, after = await wire.end(identity, 5, commit=True)
                assert error == "NONE"
                # A client that missed the answer asks again, and hears the same.
                assert await wire.end(identity, 5, commit=True) in {
                    ("NONE", after),
                    ("CONCURRENT_TRANSACTIONS", identity),
                }
                await wire.wait_for(topic, "CompleteCommit")
                assert await wire.end(identity, 5, commit=True) == ("NONE", after)
                seen.append((after.producer_id == first_id, after.epoch))
                identity = after
            # The last epoch is for the coordinator alone, which fences with it.
            assert seen == [(True, LAST_EPOCH - 2), (True, LAST_EPOCH - 1), (False, 0), (False, 1)]

        play(scenario)


class TestAddingPartitions:
    @pytest.mark.parametrize("version", range(4))
    def test_one_unknown_partition_keeps_the_others_out(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await wire.start(topic)
            request = adding.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=topic,
                v3_and_below_producer_id=identity.producer_id,
                v3_and_below_producer_epoch=identity.epoch,
                v3_and_below_topics=[
                    adding.AddPartitionsToTxnTopic(name=topic, partitions=[0]),
                    adding.AddPartitionsToTxnTopic(name=f"{topic}-missing", partitions=[0]),
                ],
            )
            answer = await wire.client.call(request, version)
            errors = {
                one.name: name_of(one.results_by_partition[0].partition_error_code)
                for one in answer.results_by_topic_v3_and_below
            }
            assert errors == {topic: "OPERATION_NOT_ATTEMPTED", f"{topic}-missing": "UNKNOWN_TOPIC_OR_PARTITION"}
            assert (await wire.describe(topic)).transaction_state == "Empty"

        play(scenario)

    @pytest.mark.parametrize("version", [3, 10, 11, 12, 13])
    def test_a_transactional_batch_in_a_request_without_an_id_is_refused(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await begun(wire, topic, topic)
            error = await wire.produce(identity, version, topic, 0, 1, names_id=False)
            assert error == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"

        play(scenario)


class TestMarkers:
    """WriteTxnMarkers, which coordinators send to the leaders of partitions, and operators in need."""

    @pytest.mark.parametrize(
        ("version", "transaction_version", "is_open", "change", "expected"),
        [
            # The old rule: the producer's epoch or a later one.
            *(
                (version, transaction_version, is_open, change, "NONE" if change >= 0 else "INVALID_PRODUCER_EPOCH")
                for version, transaction_version in ((1, 0), (2, 0), (2, 1))
                for is_open in (True, False)
                for change in (-1, 0, 1, 2)
            ),
            # That of transaction.version 2: a later one, unless nothing is open: then it may be a repetition.
            (2, 2, True, -1, "INVALID_PRODUCER_EPOCH"),
            (2, 2, True, 0, "INVALID_PRODUCER_EPOCH"),
            (2, 2, True, 1, "NONE"),
            (2, 2, True, 2, "NONE"),
            (2, 2, False, -1, "INVALID_PRODUCER_EPOCH"),
            (2, 2, False, 0, "NONE"),
            (2, 2, False, 1, "NONE"),
        ],
    )
    def test_the_epoch_decides(
        self, play: Play, version: int, transaction_version: int, is_open: bool, change: int, expected: str
    ) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await wire.start(topic)
            identity = await wire.start(topic)
            await wire.write(identity, topic, 0, 0)
            if not is_open:
                assert await wire.mark(identity, 1, topic, 0, commit=True) == ["NONE"]
            marked = identity.with_epoch(identity.epoch + change)
            for _ in range(2):
                answers = await wire.mark(
                    marked, version, topic, 0, commit=False, transaction_version=transaction_version
                )
                assert answers == [expected]

        play(scenario)

    @pytest.mark.parametrize("transaction_version", [0, 2])
    def test_a_coordinator_that_was_replaced_is_refused(self, play: Play, transaction_version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await begun(wire, topic, topic)
            answers = []
            for epoch, coordinator_epoch in ((1, 5), (2, 3), (2, 5), (2, 7)):
                answers += await wire.mark(
                    identity.with_epoch(epoch),
                    2,
                    topic,
                    0,
                    commit=True,
                    coordinator_epoch=coordinator_epoch,
                    transaction_version=transaction_version,
                )
            assert answers == ["NONE", "TRANSACTION_COORDINATOR_FENCED", "NONE", "NONE"]

        play(scenario)

    @pytest.mark.parametrize("version", [1, 2])
    def test_a_partition_that_does_not_exist_does_not_keep_others_from_their_markers(
        self, play: Play, version: int
    ) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await begun(wire, topic, topic)
            answers = await wire.mark(identity, version, topic, 0, 9, commit=True)
            assert sorted(answers) == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]
            assert await wire.mark(identity, version, f"{topic}-missing", 0, commit=True) == [
                "UNKNOWN_TOPIC_OR_PARTITION"
            ]

        play(scenario)


class TestLookingAt:
    def test_ids_that_nobody_has_are_not_found(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await wire.start(topic)
            found = await wire.describe(f"{topic}-missing")
            assert name_of(found.error_code) == "TRANSACTIONAL_ID_NOT_FOUND"
            assert name_of((await wire.describe("")).error_code) == "INVALID_REQUEST"

        play(scenario)

    def test_filters_that_mean_nothing_are_named(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            await begun(wire, topic, topic)
            answer = await wire.client.call(ListTransactionsRequest(state_filters=["Nonsense", "Ongoing"]))
            assert (answer.error_code, answer.unknown_state_filters) == (0, ["Nonsense"])
            assert topic in {one.transactional_id for one in answer.transaction_states}
            answer = await wire.client.call(ListTransactionsRequest(transactional_id_pattern="("))
            assert name_of(answer.error_code) == "INVALID_REGULAR_EXPRESSION"
            assert not answer.transaction_states

        play(scenario)


class TestReading:
    """Fetch, ListOffsets and OffsetFetch while transactions are open."""

    def test_a_fetch_of_committed_records_ends_at_the_first_open_transaction(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            aborted, committed, open_one = [await wire.start(f"{topic}-{name}") for name in ("a", "c", "o")]
            # Offset 0 holds the topic's first record.
            for identity in (aborted, committed, open_one):
                await wire.write(identity, topic, 0, 0, b"x", b"y")
            await wire.end(committed, 5, commit=True)
            await wire.wait_for(f"{topic}-c", "CompleteCommit")
            assert await fetched(wire, topic) == ([0], 1, [])
            await wire.end(aborted, 5, commit=False)
            await wire.wait_for(f"{topic}-a", "CompleteAbort")
            # Up to the third transaction; of those below, the aborted one is named with its first offset.
            assert await fetched(wire, topic) == ([0, 1, 3], 5, [(aborted.producer_id, 1)])
            assert await latest(wire, topic, isolation_level=1) == 5
            assert await latest(wire, topic, isolation_level=0) == 9
            await wire.end(open_one, 5, commit=True)
            await wire.wait_for(f"{topic}-o", "CompleteCommit")
            assert await fetched(wire, topic) == ([0, 1, 3, 5, 7, 8, 9], 10, [(aborted.producer_id, 1)])

        play(scenario)

    def test_offsets_of_an_open_transaction_are_unstable_for_those_who_ask(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            group = f"{topic}-group"
            await wire.prepare_group(group, topic)
            identity = await begun(wire, topic, topic)
            assert await wire.commit_offset(identity, 5, group, topic, 42) == "NONE"
            assert await fetched_offset(wire, group, topic, require_stable=True) == ("UNSTABLE_OFFSET_COMMIT", -1)
            assert await fetched_offset(wire, group, topic, require_stable=False) == ("NONE", 0)
            await wire.end(identity, 5, commit=True)
            await wire.wait_for(topic, "CompleteCommit")
            assert await fetched_offset(wire, group, topic, require_stable=True) == ("NONE", 42)

        play(scenario)


async def fetched(wire: TransactionWire, topic: str) -> tuple[list[int], int, list[tuple[int, int]]]:
    """Of partition 0: the first offsets of its batches, the last stable offset, and the aborted transactions."""
    part = fetching.FetchPartition(fetch_offset=0, partition_max_bytes=1_000_000)
    request = fetching.FetchRequest(
        isolation_level=1,
        min_bytes=0,
        max_wait_ms=0,
        max_bytes=1_000_000,
        session_epoch=-1,
        topics=[fetching.FetchTopic(topic=topic, partitions=[part])],
    )
    answer = await wire.client.call(request, 12)
    [found] = answer.responses[0].partitions
    records = bytes(found.records or b"")
    offsets_of_batches, position = [], 0
    while position < len(records):
        offsets_of_batches.append(int.from_bytes(records[position : position + 8], "big"))
        position += 12 + int.from_bytes(records[position + 8 : position + 12], "big")
    aborted = [(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
    return offsets_of_batches, found.last_stable_offset, aborted


async def latest(wire: TransactionWire, topic: str, *, isolation_level: int) -> int:
    part = listing.ListOffsetsPartition(timestamp=-1)
    topics = [listing.ListOffsetsTopic(name=topic, partitions=[part])]
    request = listing.ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=topics)
    answer = await wire.client.call(request, 7)
    offset: int = answer.topics[0].partitions[0].offset
    return offset


async def fetched_offset(wire: TransactionWire, group: str, topic: str, *, require_stable: bool) -> tuple[str, int]:
    wanted = offsets.OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    request = offsets.OffsetFetchRequest(
        groups=[offsets.OffsetFetchRequestGroup(group_id=group, topics=[wanted])], require_stable=require_stable
    )
    answer = await wire.client.call(request, 9)
    found = answer.groups[0].topics[0].partitions[0]
    return name_of(found.error_code), found.committed_offset


class TestSeveralWriters:
    def test_writers_on_their_own_connections_share_a_transaction(
        self, play: Play, server: Server, reference: ConfluentKafka
    ) -> None:
        """One producer id and epoch, each writer with partitions of its own, from sequence 0."""

        async def write(identity: Identity, topic: str, partition: int, number: int) -> None:
            async with connected(server.port) as wire:
                for sequence in range(5):
                    await wire.write(identity, topic, partition, sequence, b"%d-%d" % (number, sequence))

        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await wire.start(topic)
            for number in range(4):
                await asyncio.gather(*(write(identity, topic, partition, number) for partition in range(4)))
                error, identity = await wire.end(identity, 5, commit=number % 2 == 1)
                assert error == "NONE"
            await wire.wait_for(topic, "CompleteCommit")

        play(scenario)
        topic = next(name for name in reference.topics() if "writers-on-their-own" in name)
        kept = [b"%d-%d" % (number, sequence) for number in (1, 3) for sequence in range(5)]
        for partition in range(4):
            assert committed_values(reference, topic, partition, 10) == kept


class TestLateRequests:
    """What the network held back, and delivers when the next transaction is open."""

    def test_a_late_end_does_not_touch_the_next_transaction(self, play: Play, reference: ConfluentKafka) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            first = await begun(wire, topic, topic)
            _, second = await wire.end(first, 5, commit=True)
            await wire.write(second, topic, 0, 0, b"half")
            assert (await wire.end(first, 5, commit=True))[0] == "PRODUCER_FENCED"
            assert (await wire.end(first, 5, commit=False))[0] == "PRODUCER_FENCED"
            await wire.write(second, topic, 1, 0, b"half")
            assert (await wire.end(second, 5, commit=False))[0] == "NONE"
            await wire.wait_for(topic, "CompleteAbort")
            # The first transaction alone.
            assert await fetched(wire, topic) == ([0, 1, 2, 3, 4], 5, [(second.producer_id, 3)])

        play(scenario)

    def test_the_old_protocol_cannot_tell_a_late_end_from_the_next_one(self, play: Play) -> None:
        """Why there is a new one. Kafka ends the wrong transaction here, and so does whoever speaks its protocol."""

        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await begun_in_the_old_way(wire, topic, topic)
            assert (await wire.end(identity, 4, commit=True))[0] == "NONE"
            await wire.wait_for(topic, "CompleteCommit")
            assert await wire.add_partitions(identity, 3, topic, 0) == "NONE"
            await wire.write(identity, topic, 0, 1, b"half", version=11)
            assert (await wire.end(identity, 4, commit=True))[0] == "NONE"
            await wire.wait_for(topic, "CompleteCommit")
            # What belongs to the ended transaction and comes later is at least refused (KIP-890, part 1).
            assert await wire.produce(identity, 11, topic, 0, 2, b"other half") == "TRANSACTION_ABORTABLE"

        play(scenario)

    @pytest.mark.parametrize("version", [3, 10, 11])
    def test_a_late_write_does_not_open_a_transaction_that_nobody_ends(self, play: Play, version: int) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            identity = await begun_in_the_old_way(wire, topic, topic)
            assert (await wire.end(identity, 4, commit=False))[0] == "NONE"
            await wire.wait_for(topic, "CompleteAbort")
            error = await wire.produce(identity, version, topic, 0, 1)
            assert error == ("TRANSACTION_ABORTABLE" if version == 11 else "INVALID_TXN_STATE")
            assert await latest(wire, topic, isolation_level=1) == await latest(wire, topic, isolation_level=0)

        play(scenario)

    def test_a_write_of_the_epoch_before_is_refused(self, play: Play) -> None:
        async def scenario(wire: TransactionWire, topic: str) -> None:
            first = await begun(wire, topic, topic)
            _, second = await wire.end(first, 5, commit=True)
            await wire.wait_for(topic, "CompleteCommit")
            assert await wire.produce(first, 12, topic, 0, 1) == "INVALID_PRODUCER_EPOCH"
            await wire.write(second, topic, 0, 0)
            assert await wire.produce(first, 12, topic, 0, 1) == "INVALID_PRODUCER_EPOCH"

        play(scenario)


class TestForgetting:
    """Servers of their own, with short times."""

    def test_an_idle_id_is_forgotten_and_begins_anew(self, start_server: Callable[..., Server]) -> None:
        server = start_server(
            {
                "transactional.id.expiration.ms": "1500",
                "transaction.remove.expired.transaction.cleanup.interval.ms": "300",
            }
        )

        async def scenario() -> None:
            async with connected(server.port) as wire:
                first = await empty(wire, "idle", "")
                await wire.wait_for("idle", "TRANSACTIONAL_ID_NOT_FOUND")
                assert (await wire.end(first, 5, commit=True))[0] == "INVALID_PRODUCER_ID_MAPPING"
                second = await wire.start("idle")
                assert (second.producer_id > first.producer_id, second.epoch) == (True, 0)

        asyncio.run(scenario())

    def test_a_producer_with_an_open_transaction_is_remembered_by_its_partition(
        self, start_server: Callable[..., Server]
    ) -> None:
        server = start_server({"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "200"})
        reference = ConfluentKafka(server.bootstrap)
        reference.produce("kept", [Record(b"first")])

        async def scenario() -> None:
            async with connected(server.port) as wire:
                idle = await begun(wire, "idle", "kept")
                await wire.end(idle, 5, commit=True)
                busy = await begun(wire, "busy", "kept")
                known = await eventually_async(
                    lambda: producers(wire, "kept"), lambda found: idle.producer_id not in found
                )
                assert busy.producer_id in known
                await wire.write(busy, "kept", 0, 1, b"more")
                assert (await wire.end(busy, 5, commit=True))[0] == "NONE"
                await eventually_async(lambda: producers(wire, "kept"), lambda found: not found)

        asyncio.run(scenario())


async def producers(wire: TransactionWire, topic: str) -> set[int]:
    request = describing.DescribeProducersRequest(topics=[describing.TopicRequest(name=topic, partition_indexes=[0])])
    answer = await wire.client.call(request)
    return {one.producer_id for one in answer.topics[0].partitions[0].active_producers}
