"""What an owner asks the coordinator after answers that a healthy cluster seldom gives."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ottla.client import AbortableError, Client, FatalProducerError, GroupMetadata, TopicPartition, TransactionOwner
from ottla.client.cluster import CoordinatorKind
from ottla.client.producer_ids import ProducerIdentity
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.end_txn_response import EndTxnResponse
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse
from ottla.protocol.schema import Message
from unit.client.answering_broker import asked

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]


def owned(
    work: Callable[[TransactionOwner], Awaitable[None]],
    *,
    added: tuple[ErrorCode, ...] = (),
    ended: ErrorCode = ErrorCode.NONE,
    max_block_ms: float = 60_000,
) -> list[Message]:
    """What a broker of the older protocol was asked; the new identity is always 7 with epoch 3."""
    rows = [
        AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
        for number, code in enumerate(added)
    ]
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=rows)
    answers: dict[type[Message], Message] = {
        InitProducerIdRequest: InitProducerIdResponse(producer_id=7, producer_epoch=3),
        AddPartitionsToTxnRequest: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic]),
        AddOffsetsToTxnRequest: AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
        EndTxnRequest: EndTxnResponse(error_code=ended),
    }

    async def run(client: Client) -> None:
        client.cluster._coordinators[CoordinatorKind.TRANSACTION, "id"] = 1
        owner = TransactionOwner(client.cluster, "id", max_block_ms=max_block_ms)
        assert await owner.init() == ProducerIdentity(7, 3)
        owner.begin()
        await work(owner)

    _, requests = asyncio.run(asked(answers, run))
    return requests[1:]


def kinds(requests: list[Message]) -> list[type[Message]]:
    return [type(request) for request in requests]


def test_nothing_is_asked_for_a_transaction_of_nothing() -> None:
    assert owned(lambda owner: owner.commit()) == []
    assert owned(lambda owner: owner.abort()) == []


def test_partitions_are_added_once_and_ended_together() -> None:
    async def work(owner: TransactionOwner) -> None:
        await owner.add_partitions(PARTITIONS[:1])
        await owner.add_partitions(PARTITIONS)
        await owner.add_partitions(PARTITIONS)
        await owner.commit()

    requests = owned(work, added=(ErrorCode.NONE, ErrorCode.NONE))
    assert kinds(requests) == [AddPartitionsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest]
    assert isinstance(requests[1], AddPartitionsToTxnRequest)
    assert [list(topic.partitions) for topic in requests[1].v3_and_below_topics] == [[1]]
    assert isinstance(requests[2], EndTxnRequest)
    assert (requests[2].producer_id, requests[2].producer_epoch, requests[2].committed) == (7, 3, True)


def test_the_reason_of_a_refusal_is_told_and_not_what_it_kept_from_being_tried() -> None:
    async def work(owner: TransactionOwner) -> None:
        with pytest.raises(AbortableError, match="t-1: not allowed") as refused:
            await owner.add_partitions(PARTITIONS)
        assert refused.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        await owner.abort()

    refused = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    # Nothing was begun; the epoch is new, as after every failure under the older protocol.
    requests = owned(work, added=refused)
    assert kinds(requests) == [AddPartitionsToTxnRequest, InitProducerIdRequest]
    assert isinstance(requests[1], InitProducerIdRequest)
    assert (requests[1].producer_id, requests[1].producer_epoch) == (7, 3)


def test_a_coordinator_that_has_forgotten_the_id_is_asked_for_a_new_identity_and_no_end() -> None:
    async def work(owner: TransactionOwner) -> None:
        with pytest.raises(AbortableError):
            await owner.add_partitions(PARTITIONS)
        await owner.abort()
        owner.begin()

    requests = owned(work, added=(ErrorCode.INVALID_PRODUCER_ID_MAPPING,))
    assert kinds(requests) == [AddPartitionsToTxnRequest, InitProducerIdRequest]


def test_a_group_that_may_not_be_read_fails_the_transaction_alone() -> None:
    async def work(owner: TransactionOwner) -> None:
        with pytest.raises(AbortableError):
            await owner.send_offsets({PARTITIONS[0]: 5}, GroupMetadata("g"))
        await owner.abort()

    assert kinds(owned(work)) == [AddOffsetsToTxnRequest, InitProducerIdRequest]


def test_what_was_perhaps_begun_is_ended_and_may_turn_out_not_to_be_there() -> None:
    async def work(owner: TransactionOwner) -> None:
        with pytest.raises(AbortableError, match="call abort_transaction"):
            await owner.add_partitions(PARTITIONS)
        await owner.abort()
        owner.begin()

    busy = (ErrorCode.CONCURRENT_TRANSACTIONS,)
    requests = owned(work, added=busy, ended=ErrorCode.INVALID_TXN_STATE, max_block_ms=30)
    assert kinds(requests)[-2:] == [EndTxnRequest, InitProducerIdRequest]


def test_where_others_write_an_abort_is_a_new_identity_and_a_commit_is_not() -> None:
    async def work(owner: TransactionOwner) -> None:
        owner.hand_out()
        await owner.add_partitions(PARTITIONS)
        await owner.abort()
        owner.begin()
        owner.hand_out()
        await owner.add_partitions(PARTITIONS)
        await owner.commit()
        # Nobody but the owner wrote in this one.
        owner.begin()
        await owner.add_partitions(PARTITIONS)
        await owner.abort()

    added = AddPartitionsToTxnRequest
    requests = owned(work, added=(ErrorCode.NONE, ErrorCode.NONE))
    assert kinds(requests) == [added, InitProducerIdRequest, added, EndTxnRequest, added, EndTxnRequest]


def test_an_end_that_is_not_possible_ends_the_producer() -> None:
    async def work(owner: TransactionOwner) -> None:
        await owner.add_partitions(PARTITIONS[:1])
        with pytest.raises(FatalProducerError) as refused:
            await owner.commit()
        assert refused.value.code is ErrorCode.INVALID_TXN_STATE

    owned(work, added=(ErrorCode.NONE,), ended=ErrorCode.INVALID_TXN_STATE)


def test_an_id_needs_a_name() -> None:
    async def work(client: Client) -> None:
        with pytest.raises(ValueError, match="at least one character"):
            client.transaction_owner("")

    asyncio.run(asked({}, work))


@pytest.mark.parametrize(("name", "kind"), [(5, TypeError), ("x" * 40_000, ValueError)])
def test_an_id_is_a_string_that_a_request_can_carry(name: str, kind: type[Exception]) -> None:
    async def run(client: Client) -> None:
        with pytest.raises(kind, match="transactional"):
            TransactionOwner(client.cluster, name)

    asyncio.run(asked({}, run))
