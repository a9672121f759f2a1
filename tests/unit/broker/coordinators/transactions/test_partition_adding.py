import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from harness.watched_tasks import WatchedTasks
from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.internal_topic import (
    OFFSETS_TOPIC,
    TRANSACTION_TOPIC,
    InternalTopic,
    transaction_topic_spec,
)
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.coordinators.transactions.partition_adding import (
    PartitionAdding,
    TransactionSupport,
    error_for_producer,
)
from ottla.broker.peers import PeerUnavailable
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.metadata.image import NO_LEADER, ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.topic_partition import TopicPartition
from unit.broker.coordinators.groups.fakes import NODE_ID, image_with

OTHER = 8
T = TypeVar("T")


class AddingChannel(TransactionChannel):
    """Answers every partition with the next error of a list, then with none."""

    def __init__(self, *codes: ErrorCode, refusal: ErrorCode = ErrorCode.NONE) -> None:
        self.codes = list(codes)
        self.refusal = refusal
        self.requests: list[AddPartitionsToTxnRequest] = []
        self.asked: list[int] = []
        self.is_dead = False
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def add_partitions(self, broker_id: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        self.asked.append(broker_id)
        self.requests.append(request)
        await self.is_open.wait()
        if self.is_dead:
            raise PeerUnavailable(broker_id, "it is dead")
        if self.refusal:
            return AddPartitionsToTxnResponse(error_code=self.refusal)
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
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
                for transaction in request.transactions
            ]
        )


class Broker:
    """A broker whose transactions are coordinated by itself, or by another one."""

    def __init__(self, channel: AddingChannel, image: ClusterImage) -> None:
        config = TransactionConfig(transaction_state_log_num_partitions=1, add_partitions_to_txn_retry_backoff_ms=1)
        topic = InternalTopic(transaction_topic_spec(config), lambda: image, _never)
        self.tasks = WatchedTasks()
        self.adding = PartitionAdding(NODE_ID, config, topic, channel, self.tasks)

    async def ask(
        self, support: TransactionSupport, *indexes: int, transactional_id: str = "tx"
    ) -> dict[tuple[str, int], ErrorCode]:
        partitions = {TopicPartition("t", index) for index in indexes or (0, 1)}
        errors = await self.adding.add_or_verify(transactional_id, 7, 4, partitions, support)
        return {partition: error_for_producer(error, support).code for partition, error in errors.items()}


def run(channel: AddingChannel, image: ClusterImage, scenario: Callable[[Broker], Awaitable[T]]) -> T:
    async def play() -> T:
        broker = Broker(channel, image)
        try:
            return await scenario(broker)
        finally:
            await broker.tasks.cancel_all()

    return asyncio.run(play())


def ask(
    channel: AddingChannel, support: TransactionSupport, coordinator: int = NODE_ID
) -> dict[tuple[str, int], ErrorCode]:
    return run(channel, coordinated_by(coordinator), lambda broker: broker.ask(support))


def coordinated_by(broker_id: int) -> ClusterImage:
    return _with_transaction_topic(image_with(leader=broker_id))


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
        (ErrorCode.CONCURRENT_TRANSACTIONS, TransactionSupport.GENERIC_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS),
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


def test_a_producer_that_knows_of_it_hears_that_its_last_transaction_takes_long() -> None:
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    assert set(ask(AddingChannel(*[busy] * 1000), TransactionSupport.ADD_PARTITION).values()) == {busy}


def test_another_broker_is_asked_if_it_coordinates_the_transaction() -> None:
    channel = AddingChannel(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    told = ask(channel, TransactionSupport.ADD_PARTITION, coordinator=OTHER)
    assert set(told.values()) == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert channel.asked == [OTHER]


@pytest.mark.parametrize("support", list(TransactionSupport))
def test_a_coordinator_that_does_not_answer_makes_the_producer_send_again(support: TransactionSupport) -> None:
    channel = AddingChannel()
    channel.is_dead = True
    assert set(ask(channel, support, coordinator=OTHER).values()) == {ErrorCode.NOT_ENOUGH_REPLICAS}
    assert channel.asked == [OTHER]


def test_a_group_hears_of_a_coordinator_that_does_not_answer_what_it_knows() -> None:
    async def scenario(broker: Broker) -> ErrorCode:
        partition = TopicPartition(OFFSETS_TOPIC, 0)
        errors = await broker.adding.add_or_verify("tx", 7, 4, {partition}, TransactionSupport.ADD_PARTITION)
        return coordinator_error(errors[partition]).code

    channel = AddingChannel()
    channel.is_dead = True
    assert run(channel, coordinated_by(OTHER), scenario) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_nobody_is_asked_while_there_is_no_coordinator() -> None:
    for image in (coordinated_by(NO_LEADER), image_with()):
        channel = AddingChannel()
        told = run(channel, image, lambda broker: broker.ask(TransactionSupport.ADD_PARTITION))
        assert set(told.values()) == {ErrorCode.NOT_ENOUGH_REPLICAS}
        assert channel.asked == []


def test_a_producer_does_not_hear_what_its_broker_may_not_do() -> None:
    channel = AddingChannel(refusal=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    told = ask(channel, TransactionSupport.ADD_PARTITION, coordinator=OTHER)
    assert set(told.values()) == {ErrorCode.INVALID_TXN_STATE}


def test_what_gathers_while_a_coordinator_is_asked_goes_out_in_one_request() -> None:
    async def scenario(broker: Broker) -> None:
        channel.is_open.clear()
        support = TransactionSupport.ADD_PARTITION
        questions = [broker.tasks.start(broker.ask(support, transactional_id="first"))]
        await asyncio.sleep(0)
        questions += [broker.tasks.start(broker.ask(support, transactional_id=name)) for name in ("a", "b", "a", "c")]
        gone = broker.tasks.start(broker.ask(support, transactional_id="gone"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        channel.is_open.set()
        assert await asyncio.gather(*questions) == [{}] * 5

    channel = AddingChannel()
    run(channel, coordinated_by(OTHER), scenario)
    asked = [[one.transactional_id for one in request.transactions] for request in channel.requests]
    # A transactional id is asked about once in a request: the answer has one row for it.
    assert asked == [["first"], ["a", "b", "c"], ["a"]]


def test_a_transaction_that_an_answer_leaves_out_is_asked_about_again_by_the_producer() -> None:
    class Forgetful(AddingChannel):
        async def add_partitions(self, *question: object) -> AddPartitionsToTxnResponse:
            return AddPartitionsToTxnResponse()

    told = ask(Forgetful(), TransactionSupport.ADD_PARTITION, coordinator=OTHER)
    assert set(told.values()) == {ErrorCode.NOT_ENOUGH_REPLICAS}
