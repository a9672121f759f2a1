import asyncio
from dataclasses import replace

import pytest

from ottla.broker.coordinators.internal_topic import TRANSACTION_TOPIC, InternalTopic, transaction_topic_spec
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding, TransactionSupport
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from unit.broker.coordinators.groups.fakes import NODE_ID, image_with


class AddingChannel(TransactionChannel):
    """Answers every partition with the next error of a list, then with none."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)
        self.requests: list[AddPartitionsToTxnRequest] = []

    async def add_partitions(self, node_id: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        assert node_id == NODE_ID
        self.requests.append(request)
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        (transaction,) = request.transactions
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=transaction.transactional_id,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                                for index in topic.partitions
                            ],
                        )
                        for topic in transaction.topics
                    ],
                )
            ]
        )


def ask(channel: AddingChannel, support: TransactionSupport) -> dict[tuple[str, int], ErrorCode]:
    config = TransactionConfig(transaction_state_log_num_partitions=1, add_partitions_to_txn_retry_backoff_ms=1)
    image = _with_transaction_topic(image_with())
    topic = InternalTopic(transaction_topic_spec(config), lambda: image, _never)

    async def run() -> dict[tuple[str, int], ErrorCode]:
        adding = PartitionAdding(config, topic, channel)
        errors = await adding.add_or_verify("tx", 7, 4, {("t", 0), ("t", 1)}, support)
        return {partition: error.code for partition, error in errors.items()}

    return asyncio.run(run())


def _with_transaction_topic(image: ClusterImage) -> ClusterImage:
    offsets = image.topics.by_name("__consumer_offsets")
    assert offsets is not None
    topic = replace(offsets, name=TRANSACTION_TOPIC, id=b"x" * 16)
    return replace(image, topics=image.topics.with_topic(topic))


async def _never(spec: object) -> None:
    raise AssertionError(spec)


@pytest.mark.parametrize(("support", "verifies"), [(s, not s.adds_partitions) for s in TransactionSupport])
def test_partitions_are_added_for_new_clients_and_verified_for_older_ones(
    support: TransactionSupport, verifies: bool
) -> None:
    channel = AddingChannel()
    assert ask(channel, support) == {}
    (request,) = channel.requests
    assert request.transactions[0].verify_only is verifies
    assert sorted(request.transactions[0].topics[0].partitions) == [0, 1]


def test_an_addition_waits_for_the_transaction_before_and_a_verification_does_not() -> None:
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    assert ask(AddingChannel(busy, busy), TransactionSupport.ADD_PARTITION) == {}
    errors = ask(AddingChannel(busy, busy), TransactionSupport.DEFAULT_ERROR)
    assert set(errors.values()) == {ErrorCode.NOT_ENOUGH_REPLICAS}


@pytest.mark.parametrize(
    ("answered", "support", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, TransactionSupport.ADD_PARTITION, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NOT_COORDINATOR, TransactionSupport.GENERIC_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.PRODUCER_FENCED, TransactionSupport.ADD_PARTITION, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, TransactionSupport.DEFAULT_ERROR, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, TransactionSupport.GENERIC_ERROR, ErrorCode.TRANSACTION_ABORTABLE),
        (
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            TransactionSupport.ADD_PARTITION,
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ),
    ],
)
def test_a_producer_hears_what_it_knows(answered: ErrorCode, support: TransactionSupport, told: ErrorCode) -> None:
    assert set(ask(AddingChannel(answered), support).values()) == {told}
