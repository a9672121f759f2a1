"""Markers of coordinators in ordinary partitions: one row for each, with what Kafka answers."""

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.paper_brokers import PATIENT, PaperBrokers
from harness.running_node import RunningNode, batch_of, run_node
from harness.transaction_wire import TransactionWire
from harness.transactional_requests import Requests, marker, transactional_batch
from harness.waiting import eventually_async
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest

WITHOUT_VERIFICATION = {"transaction.partition.verification.enable": "false"}


def ends(running: RunningNode, count: int) -> list[tuple[int, int]]:
    """Last stable offset and end of each partition."""
    logs = [running.node.replicas.partition("orders", index).log for index in range(count)]
    return [(log.last_stable_offset, log.log_end_offset) for log in logs]


@pytest.mark.parametrize("directories", [1, 2])
def test_markers_end_transactions_in_several_partitions(tmp_path: Path, directories: int) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 3)
        for producer_id, indexes in ((7, (0, 1)), (8, (1, 2))):
            batches = {("orders", index): transactional_batch((producer_id, 0), 0) for index in indexes}
            await requests.produce("tx", batches, 11)
        assert ends(running, 3) == [(0, 1), (0, 2), (0, 1)]
        answered = await requests.mark(
            marker((7, 1), {"orders": [0, 1]}), marker((8, 1), {"orders": [1, 2]}, is_commit=False)
        )
        none = ErrorCode.NONE
        assert answered == [[("orders", 0, none), ("orders", 1, none)], [("orders", 1, none), ("orders", 2, none)]]
        assert ends(running, 3) == [(2, 2), (4, 4), (2, 2)]
        log = running.node.replicas.partition("orders", 1).log
        assert [aborted.producer_id for aborted in log.aborted_transactions(0, 4)] == [8]

    overrides = WITHOUT_VERIFICATION.copy()
    if directories > 1:
        overrides["log.dirs"] = f"{tmp_path / 'data'},{tmp_path / 'more'}"
    run_node(tmp_path / "data", scenario, overrides)


def test_a_marker_of_an_operator_is_in_the_nodes_log_and_one_of_a_coordinator_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests, coordinator = Requests(client), TransactionWire(client)
        await requests.create("orders", 30)
        identity = await coordinator.start("tx")
        await requests.produce("tx", {("orders", 0): transactional_batch(identity.producer, 0)}, 13)
        await coordinator.end(identity, 5, commit=True)
        # The coordinator of another transaction, on another broker.
        of_broker = WriteTxnMarkersRequest(markers=[marker((9, 0), {"orders": [2]})])
        sent = client.send(of_broker, 2, client_id="broker-2-markers")
        await client.receive(WriteTxnMarkersRequest, 2, sent)
        await requests.mark(marker((7, 3), {"orders": [1, 99]}, is_commit=False))
        await requests.mark(marker((8, 0), {"orders": list(range(30))}))

    with caplog.at_level(logging.INFO):
        run_node(tmp_path / "data", scenario)
    told = [message for message in caplog.messages if "marker" in message]
    assert (
        told[0] == "127.0.0.1 aborted the transaction of producer 7 (epoch 3) in orders-1 alone, by a marker of its own"
    )
    assert "producer 8" in told[1]
    assert told[-1] == "127.0.0.1 wrote 10 more markers in the same request"
    assert len(told) == 1 + 20 + 1


def test_each_partition_has_its_own_error(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 2)
        unknown, none = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE
        answered = await requests.mark(marker((7, 3), {"nonesuch": [0], "orders": [9, 1]}, coordinator_epoch=5))
        assert answered == [[("nonesuch", 0, unknown), ("orders", 9, unknown), ("orders", 1, none)]]
        place = {"orders": [1]}
        for version, epoch, coordinator_epoch, code in (
            (2, 2, 5, ErrorCode.INVALID_PRODUCER_EPOCH),
            (0, 2, 5, ErrorCode.INVALID_PRODUCER_EPOCH),
            (2, 3, 4, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
            (0, 3, 4, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
            (2, 3, 5, none),
            (-1, 4, 5, ErrorCode.UNKNOWN_SERVER_ERROR),
            (2, -1, 5, ErrorCode.UNKNOWN_SERVER_ERROR),
        ):
            one = marker((7, epoch), place, coordinator_epoch=coordinator_epoch, transaction_version=version)
            assert await requests.mark(one) == [[("orders", 1, code)]]
        assert ends(running, 2) == [(0, 0), (1, 1)], "the repeated one was not written again"
        assert await requests.mark(marker((7, 3), place, coordinator_epoch=5), version=1) == [[("orders", 1, none)]]
        assert ends(running, 2)[1] == (2, 2), "version 1 knows no epochs of single transactions"
        assert await requests.mark(marker((-1, 3), place)) == [[("orders", 1, ErrorCode.UNKNOWN_SERVER_ERROR)]]
        assert await requests.mark() == []

    run_node(tmp_path / "data", scenario)


def test_a_marker_is_answered_when_it_is_replicated(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests, other = Requests(await running.connect()), Requests(await running.connect())
        await requests.create("orders", 1)
        partition = running.node.replicas.partition("orders", 0)
        partition.apply(replace(partition.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=9))
        sent = requests.client.send(WriteTxnMarkersRequest(markers=[marker((7, 0), {"orders": [0]})]), 2)
        await other.create("others", 1)
        while partition.log.log_end_offset == 0:
            await other.client.call(WriteTxnMarkersRequest(markers=[]))
        assert not partition.is_committed(0, 0)
        partition.follower_fetched(2, 1, 0, leader_end_offset=1, broker_epoch=1)
        answer = await requests.client.receive(WriteTxnMarkersRequest, 2, sent)
        assert answer.markers[0].topics[0].partitions[0].error_code == 0

    run_node(tmp_path / "data", scenario)


def test_too_few_replicas_are_told_before_anything_is_written(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1, min_insync_replicas="2")
        partition = running.node.replicas.partition("orders", 0)
        partition.apply(replace(partition.leadership, replicas=(1, 2), partition_epoch=9))
        answered = await requests.mark(marker((7, 0), {"orders": [0]}))
        assert answered == [[("orders", 0, ErrorCode.NOT_ENOUGH_REPLICAS)]]
        await requests.create("others", 1)
        assert await requests.produce(None, {("others", 0): batch_of(b"v")}) == [(ErrorCode.NONE, 0)]
        assert ends(running, 1) == [(0, 0)]

    run_node(tmp_path / "data", scenario)


def test_markers_are_answered_when_every_in_sync_replica_has_them(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers = PaperBrokers(running)
        await brokers.add(2)
        await brokers.create_topic("orders", [1, 2])
        await brokers.create_topic(OFFSETS_TOPIC, [1, 2], [1, 2])
        places = [("orders", 0), (OFFSETS_TOPIC, 0), (OFFSETS_TOPIC, 1)]
        client, other = await running.connect(), await running.connect()
        markers = [marker((7, 0), {"orders": [0], OFFSETS_TOPIC: [0]}), marker((8, 0), {OFFSETS_TOPIC: [1]})]
        sent = client.send(WriteTxnMarkersRequest(markers=markers), 2)
        answer = asyncio.ensure_future(client.receive(WriteTxnMarkersRequest, 2, sent))

        async def ends() -> list[int]:
            return [running.node.replicas.partition(*place).log.log_end_offset for place in places]

        # No partition waits for another one to be replicated.
        await eventually_async(ends, lambda found: found == [1, 1, 1])
        for place in places:
            await other.call(ApiVersionsRequest(), 0)
            assert not answer.done()
            await stack.enter_async_context(brokers.following(2, *place))
        rows = [row for result in (await answer).markers for topic in result.topics for row in topic.partitions]
        assert [row.error_code for row in rows] == [ErrorCode.NONE] * 3

    async def with_followers(running: RunningNode) -> None:
        async with stack:
            await scenario(running)

    stack = AsyncExitStack()
    run_node(tmp_path, with_followers, PATIENT)
