import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ottla.coordinator.transaction.metadata import ProducerIdentity
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.broker.groups.fakes import MemoryLog
from unit.broker.transactions.fakes import COORDINATOR_EPOCH, TransactionNode

T0 = ("t", 0)
T1 = ("t", 1)


def scenario(story: Callable[[TransactionNode], Awaitable[None]], log: MemoryLog | None = None, **config: int) -> None:
    async def run() -> None:
        node = await TransactionNode(log, **config).serve()
        try:
            await story(node)
        finally:
            await node.stop()

    asyncio.run(run())


async def begin(node: TransactionNode, *partitions: tuple[str, int]) -> ProducerIdentity:
    """A producer with a transaction over some partitions."""
    producer = await node.transactions.init_producer_id("tx", 60_000, None)
    await node.transactions.add_partitions("tx", producer, partitions, 2)
    return producer


async def refusal(call: Awaitable[object]) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        await call
    return refused.value.code


def test_a_transaction_goes_from_its_beginning_to_its_markers_and_its_end() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0, T1)
        assert producer == ProducerIdentity(100, 0)
        following = await node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert following == ProducerIdentity(100, 1)
        await node.background_ended()
        assert sorted(node.channel.markers) == [("t", 0, 1, True), ("t", 1, 1, True)]
        (request,) = node.channel.requests
        assert request.markers[0].coordinator_epoch == COORDINATOR_EPOCH
        assert request.markers[0].transaction_version == 2
        state = node.state()
        assert state is not None
        assert (state.state, state.partitions) == (TransactionState.COMPLETE_COMMIT, frozenset())

    scenario(story)


def test_the_older_protocol_keeps_the_epoch() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await node.transactions.init_producer_id("tx", 60_000, None)
        await node.transactions.add_partitions("tx", producer, (T0,), 0)
        assert await node.transactions.end_transaction("tx", producer, 0, is_commit=False) == producer
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 0, False)]
        assert node.channel.requests[0].markers[0].transaction_version == 0

    scenario(story)


def test_a_repeated_end_gets_the_same_answer_and_no_second_marker() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        first = await node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        await node.background_ended()
        assert await node.transactions.end_transaction("tx", producer, 2, is_commit=True) == first
        assert len(node.channel.requests) == 1

    scenario(story)


def test_an_end_is_promised_once_it_is_logged_though_markers_cannot_be_written_yet() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        node.channel.is_open.clear()
        assert await node.transactions.end_transaction("tx", producer, 2, is_commit=True) == ProducerIdentity(100, 1)
        state = node.state()
        assert state is not None
        assert state.state is TransactionState.PREPARE_COMMIT
        again = node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert await refusal(again) is ErrorCode.CONCURRENT_TRANSACTIONS
        node.channel.is_open.set()
        await node.background_ended()
        state = node.state()
        assert state is not None
        assert state.state is TransactionState.COMPLETE_COMMIT

    scenario(story)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_coordinator_finishes_what_one_before_it_settled(is_commit: bool) -> None:
    log = MemoryLog()

    async def dies_before_the_markers(node: TransactionNode) -> None:
        producer = await begin(node, T0, T1)
        node.channel.is_open.clear()
        await node.transactions.end_transaction("tx", producer, 2, is_commit=is_commit)

    async def takes_over(node: TransactionNode) -> None:
        await node.background_ended()
        assert sorted(node.channel.markers) == [("t", 0, 1, is_commit), ("t", 1, 1, is_commit)]
        state = node.state()
        assert state is not None
        assert state.state.label == ("CompleteCommit" if is_commit else "CompleteAbort")

    scenario(dies_before_the_markers, log)
    scenario(takes_over, log)


def test_an_open_transaction_survives_a_restart_of_its_coordinator() -> None:
    log = MemoryLog()

    async def opens(node: TransactionNode) -> None:
        await begin(node, T0)

    async def goes_on(node: TransactionNode) -> None:
        producer = ProducerIdentity(100, 0)
        assert node.transactions.unadded_partitions("tx", producer, {T0, T1}) == {T1}
        await node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 1, True)]

    scenario(opens, log)
    scenario(goes_on, log)


def test_a_new_instance_aborts_what_the_old_one_left_and_is_asked_to_come_again() -> None:
    async def story(node: TransactionNode) -> None:
        old = await begin(node, T0)
        again = node.transactions.init_producer_id("tx", 60_000, None)
        assert await refusal(again) is ErrorCode.CONCURRENT_TRANSACTIONS
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 1, False)]
        new = await node.transactions.init_producer_id("tx", 60_000, None)
        assert new == ProducerIdentity(100, 2)
        late = node.transactions.end_transaction("tx", old, 2, is_commit=True)
        assert await refusal(late) is ErrorCode.PRODUCER_FENCED

    scenario(story)


def test_an_overdue_transaction_is_aborted_without_its_client() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        node.now_ms += 60_001
        await node.transactions.abort_overdue()
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 1, False)]
        commit = node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert await refusal(commit) is ErrorCode.INVALID_TXN_STATE

    scenario(story)


def test_ids_that_nobody_uses_are_forgotten_and_stay_so() -> None:
    log = MemoryLog()

    async def forgets(node: TransactionNode) -> None:
        for number in range(3):
            await node.transactions.init_producer_id(f"tx-{number}", 60_000, None)
        node.now_ms += 10_000
        await node.transactions.init_producer_id("tx-1", 60_000, None)
        await node.transactions.forget_expired()
        assert [node.state(f"tx-{number}") is None for number in range(3)] == [True, False, True]

    async def has_forgotten(node: TransactionNode) -> None:
        assert [node.state(f"tx-{number}") is None for number in range(3)] == [True, False, True]

    scenario(forgets, log, transactional_id_expiration_ms=5_000)
    scenario(has_forgotten, log)


def test_a_log_that_refuses_leaves_everything_as_it_was() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        node.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
        end = node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert await refusal(end) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        node.log.error = None
        assert await node.transactions.end_transaction("tx", producer, 2, is_commit=True) == ProducerIdentity(100, 1)

    scenario(story)


def test_what_is_written_takes_effect_though_its_client_is_gone() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        node.log.holds_commits = True
        request = asyncio.ensure_future(node.transactions.end_transaction("tx", producer, 2, is_commit=True))
        await node.log.waited_for()
        add = node.transactions.add_partitions("tx", producer, (T1,), 2)
        assert await refusal(add) is ErrorCode.CONCURRENT_TRANSACTIONS
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        node.log.release()
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 1, True)]

    scenario(story)


def test_states_that_did_not_get_into_the_log_after_all_are_loaded_again() -> None:
    async def story(node: TransactionNode) -> None:
        producer = await begin(node, T0)
        node.log.holds_commits = True
        request = asyncio.ensure_future(node.transactions.end_transaction("tx", producer, 2, is_commit=True))
        await node.log.waited_for()
        node.log.lose_last(0)
        assert await refusal(request) is ErrorCode.NOT_COORDINATOR
        node.log.holds_commits = False
        await node.transactions.shards.loaded()
        state = node.state()
        assert state is not None
        assert state.state is TransactionState.ONGOING

    scenario(story)


def test_a_producer_id_that_ran_out_is_replaced_when_its_last_transaction_ends() -> None:
    async def story(node: TransactionNode) -> None:
        producer = ProducerIdentity(100, 0)
        for _ in range(32_767):
            producer = await node.transactions.init_producer_id("tx", 60_000, None)
            if producer.epoch == 32_766:
                break
        await node.transactions.add_partitions("tx", producer, (T0,), 2)
        following = await node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert following == ProducerIdentity(101, 0)
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 32_767, True)]
        assert await node.transactions.end_transaction("tx", producer, 2, is_commit=True) == following

    scenario(story)


def test_an_id_of_another_partition_is_not_served_here() -> None:
    async def story(node: TransactionNode) -> None:
        node.transactions.shards.resign(0)
        assert await refusal(node.transactions.init_producer_id("tx", 60_000, None)) is ErrorCode.NOT_COORDINATOR
        (row,) = node.transactions.describe(["tx"])
        assert row.error_code == ErrorCode.NOT_COORDINATOR

    scenario(story)


def test_describing_an_unknown_id_says_so() -> None:
    async def story(node: TransactionNode) -> None:
        await begin(node, T0)
        known, unknown = node.transactions.describe(["tx", "other"])
        assert (known.transaction_state, known.error_code) == ("Ongoing", ErrorCode.NONE)
        assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    scenario(story)
