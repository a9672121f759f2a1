"""What brokers ask a coordinator about several transactions at once."""

import asyncio
from pathlib import Path

from harness.paper_brokers import PATIENT, PaperBrokers
from harness.running_node import RunningNode, run_node
from harness.transaction_wire import Identity, TransactionWire
from harness.waiting import eventually_async
from ottla.broker.coordinators.internal_topic import TRANSACTION_TOPIC
from ottla.coordinator.partitioning import partition_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

NAMES = [next(name for name in map(str, range(100)) if partition_for(name, 2) == index) for index in range(2)]


def addition(identity: Identity) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=identity.transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        topics=[AddPartitionsToTxnTopic(name="orders", partitions=[0])],
    )


def test_transactions_of_one_request_do_not_wait_for_each_other_to_be_replicated(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers = PaperBrokers(running)
        await brokers.add(2)
        await brokers.create_topic("orders", [1, 2])
        await brokers.create_topic(TRANSACTION_TOPIC, [1, 2], [1, 2])
        client = await running.connect()
        wire = TransactionWire(client)
        async with brokers.following(2, TRANSACTION_TOPIC, 0), brokers.following(2, TRANSACTION_TOPIC, 1):
            identities = [await wire.start(name) for name in NAMES]
        logs = [running.node.replicas.partition(TRANSACTION_TOPIC, index).log for index in range(2)]
        ends_before = [log.log_end_offset for log in logs]
        request = AddPartitionsToTxnRequest(transactions=[addition(identity) for identity in identities])
        sent = client.send(request, 5)
        answer = asyncio.ensure_future(client.receive(AddPartitionsToTxnRequest, 5, sent))

        async def ends() -> list[int]:
            return [log.log_end_offset for log in logs]

        await eventually_async(ends, lambda found: all(map(int.__gt__, found, ends_before)))
        assert not answer.done()
        async with brokers.following(2, TRANSACTION_TOPIC, 0), brokers.following(2, TRANSACTION_TOPIC, 1):
            results = (await answer).results_by_transaction
        assert [result.transactional_id for result in results] == NAMES
        rows = [row for result in results for topic in result.topic_results for row in topic.results_by_partition]
        assert [row.partition_error_code for row in rows] == [ErrorCode.NONE] * 2

    run_node(tmp_path, scenario, PATIENT)
