"""Requests about transactions that nobody honest sends: they are answered, and cost no more than others."""

from pathlib import Path

import pytest

from harness.running_node import RunningNode, run_node
from harness.transaction_wire import TransactionWire
from harness.transactional_requests import Requests, transactional_batch
from ottla.protocol.codec import MalformedMessage, decode, encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest


@pytest.mark.parametrize("pattern", ["x" * 1_001, "(" * 490, r"\\pN" * 200])
def test_patterns_that_are_too_long_or_too_much_are_refused(tmp_path: Path, pattern: str) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await TransactionWire(client).start("tx")
        answer = await client.call(ListTransactionsRequest(transactional_id_pattern=pattern))
        refused = {ErrorCode.INVALID_REGULAR_EXPRESSION, ErrorCode.NONE}
        assert answer.error_code in refused
        assert list(answer.transaction_states) == []

    run_node(tmp_path / "data", scenario)


def test_groups_of_a_pattern_are_not_remembered(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await TransactionWire(client).start("tx")
        answer = await client.call(ListTransactionsRequest(transactional_id_pattern="(" * 490 + "tx*" + ")" * 490))
        assert [row.transactional_id for row in answer.transaction_states] == ["tx"]

    run_node(tmp_path / "data", scenario)


def test_what_is_named_often_is_described_once(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests = Requests(client)
        await requests.create("orders", 2)
        identity = await TransactionWire(client).start("tx")
        await requests.produce("tx", {("orders", 0): transactional_batch(identity.producer, 0)})
        topics = [TopicRequest(name="orders", partition_indexes=[0, 0, 1, 0])] * 3
        described = await client.call(DescribeProducersRequest(topics=topics))
        rows = [(topic.name, row.partition_index) for topic in described.topics for row in topic.partitions]
        assert rows == [("orders", 0), ("orders", 1)]
        states = await client.call(DescribeTransactionsRequest(transactional_ids=["tx"] * 1_000))
        assert [row.transactional_id for row in states.transaction_states] == ["tx"]

    run_node(tmp_path / "data", scenario)


def test_clients_do_not_add_internal_topics_to_a_transaction(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        wire = TransactionWire(await running.connect())
        identity = await wire.start("tx")
        assert await wire.add_partitions(identity, 3, "__transaction_state", 0) == "TOPIC_AUTHORIZATION_FAILED"
        assert await wire.state("tx") == "Empty"

    run_node(tmp_path / "data", scenario)


def test_a_write_that_is_refused_for_its_epoch_begins_no_transaction(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests, wire = Requests(client), TransactionWire(client)
        await requests.create("orders")
        identity = await wire.start("tx")
        # The partition hears of a later epoch from elsewhere.
        later = transactional_batch((identity.producer_id, 5), 0)
        log = running.node.replicas.partition("orders", 0).log
        log.append_as_follower(later, now_ms=0)
        ((error, _),) = await requests.produce("tx", {("orders", 0): transactional_batch(identity.producer, 0)})
        assert error is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await wire.state("tx") == "Empty"

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize("length", [32_767, 32_768])
def test_strings_are_as_short_as_in_all_versions(length: int) -> None:
    data = encode(InitProducerIdRequest(transactional_id="x" * length), 5)
    if length <= 32_767:
        assert decode(InitProducerIdRequest, data, 5).transactional_id == "x" * length
        return
    with pytest.raises(MalformedMessage, match="32768"):
        decode(InitProducerIdRequest, data, 5)
