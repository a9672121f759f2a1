import asyncio
from collections.abc import Callable

import pytest

from ottla.broker.coordinators.transactions.markers import CoordinatorReplaced, MarkerWriter
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ErrorCode
from unit.broker.coordinators.groups.fakes import image_with
from unit.broker.coordinators.transactions.fakes import COORDINATOR_EPOCH, MarkerChannel


def ending(*partitions: tuple[str, int]) -> TransactionMetadata:
    return TransactionMetadata("tx", 7, 4, 60_000, TransactionState.PREPARE_COMMIT, frozenset(partitions))


def write(metadata: TransactionMetadata, answer: Callable[[str, int], ErrorCode]) -> MarkerChannel:
    async def run() -> MarkerChannel:
        channel = MarkerChannel()
        channel.answer = answer
        image = image_with()
        await MarkerWriter(channel, lambda: image).write(metadata, COORDINATOR_EPOCH)
        return channel

    return asyncio.run(run())


def test_partitions_that_fail_are_tried_again_and_no_others() -> None:
    failures = iter([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR])

    def answer(_topic: str, index: int) -> ErrorCode:
        return next(failures, ErrorCode.NONE) if index == 1 else ErrorCode.NONE

    channel = write(ending(("t", 0), ("t", 1)), answer)
    asked = [list(request.markers[0].topics[0].partition_indexes) for request in channel.requests]
    assert asked == [[0, 1], [1], [1]]


def test_a_topic_that_is_gone_needs_no_marker() -> None:
    channel = write(ending(("t", 0), ("gone", 3), ("t", 9)), lambda _topic, _index: ErrorCode.NONE)
    assert channel.markers == [("t", 0, 4, True)]


def test_a_partition_that_knows_a_later_epoch_needs_no_marker() -> None:
    channel = write(ending(("t", 0)), lambda _topic, _index: ErrorCode.INVALID_PRODUCER_EPOCH)
    assert len(channel.requests) == 1


def test_a_coordinator_that_was_replaced_stops() -> None:
    with pytest.raises(CoordinatorReplaced):
        write(ending(("t", 0)), lambda _topic, _index: ErrorCode.TRANSACTION_COORDINATOR_FENCED)
