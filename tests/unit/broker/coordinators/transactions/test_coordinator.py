import asyncio
import logging
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from ottla.coordinator.transaction.metadata import ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.records import encode_key, encode_value
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError, ErrorCode
from unit.broker.coordinators.groups.fakes import MemoryLog
from unit.broker.coordinators.transactions.fakes import COORDINATOR_EPOCH, TransactionNode

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


def test_an_abort_that_its_producer_did_not_ask_for_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story(node: TransactionNode) -> None:
        await begin(node, T0, T1)
        for _ in range(2):
            with suppress(ApiError):
                await node.transactions.init_producer_id("tx", 60_000, None)
            await node.background_ended()

    with caplog.at_level(logging.INFO):
        scenario(story)
    told = "Aborted the open transaction of 'tx' (producer 100, 2 partitions): its id was taken over, or terminated"
    assert caplog.messages.count(told) == 1


def test_partitions_that_are_loaded_take_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        log = MemoryLog()
        for has_records in (False, True):
            node = TransactionNode(log, transaction_state_log_num_partitions=3)
            for partition in range(3):
                node.transactions.shards.become_leader(partition, COORDINATOR_EPOCH)
            await node.transactions.shards.loaded()
            for number in range(0 if has_records else 20):
                await node.transactions.init_producer_id(f"tx-{number}", 60_000, None)
            await node.stop()

    with caplog.at_level(logging.INFO):
        asyncio.run(story())
    assert caplog.messages == ["__transaction_state is loaded: 3 partitions with 20 transactional ids"]


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


def log_with(*states: TransactionMetadata) -> MemoryLog:
    """What a coordinator of the past left behind."""
    log = MemoryLog()
    builder = BatchBuilder()
    for state in states:
        builder.append(encode_key(state.transactional_id), encode_value(state, 2), timestamp_ms=1)
    log.append(0, builder.build())
    return log


def ongoing(epoch: int, transactional_id: str = "tx") -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id, 50, epoch, 60_000, TransactionState.ONGOING, frozenset({T0}), 1_000, 1_000
    )


def test_a_producer_id_that_ran_out_is_replaced_when_its_last_transaction_ends() -> None:
    async def story(node: TransactionNode) -> None:
        producer = ProducerIdentity(50, 32_766)
        node.channel.is_open.clear()
        following = await node.transactions.end_transaction("tx", producer, 2, is_commit=True)
        assert following == ProducerIdentity(100, 0)
        # The successor is known before it has taken over.
        add = node.transactions.add_partitions("tx", following, (T1,), 2)
        assert await refusal(add) is ErrorCode.CONCURRENT_TRANSACTIONS
        node.channel.is_open.set()
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 32_767, True)]
        assert await node.transactions.end_transaction("tx", producer, 2, is_commit=True) == following
        await node.transactions.add_partitions("tx", following, (T1,), 2)

    scenario(story, log_with(ongoing(32_766)))


def test_a_producer_whose_last_transaction_timed_out_goes_on_under_a_fresh_id() -> None:
    async def story(node: TransactionNode) -> None:
        node.now_ms += 60_001
        await node.transactions.abort_overdue()
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 32_767, False)]
        mine = ProducerIdentity(50, 32_766)
        continued = await node.transactions.init_producer_id("tx", 60_000, mine)
        assert continued == ProducerIdentity(100, 0)
        assert await node.transactions.init_producer_id("tx", 60_000, mine) == continued
        await node.transactions.add_partitions("tx", continued, (T0,), 2)
        assert await node.transactions.end_transaction("tx", continued, 2, is_commit=True) == ProducerIdentity(100, 1)

    scenario(story, log_with(ongoing(32_766)))


def test_a_state_that_cannot_be_encoded_leaves_everything_as_it_was() -> None:
    async def story(node: TransactionNode) -> None:
        too_long = "x" * 40_000
        with pytest.raises(struct.error):
            await node.transactions.init_producer_id(too_long, 60_000, None)
        assert node.state(too_long) is None
        assert node.transactions.shards.active(0).shard.ids() == ()

    scenario(story)


def test_what_cannot_be_aborted_does_not_keep_the_others_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(node: TransactionNode) -> None:
        shard = node.transactions.shards.active(0).shard
        abort = shard.abort_overdue

        def fail_one(transactional_id: str, **details: Any) -> TransactionMetadata | None:
            assert transactional_id != "bad", "nobody foresaw this"
            return abort(transactional_id, **details)

        monkeypatch.setattr(shard, "abort_overdue", fail_one)
        node.now_ms += 60_001
        await node.transactions.abort_overdue()
        await node.background_ended()
        states = {name: state.state.label for name in ("bad", "good") if (state := node.state(name)) is not None}
        assert states == {"bad": "Ongoing", "good": "CompleteAbort"}

    scenario(story, log_with(ongoing(1, "bad"), ongoing(1, "good")))


def test_a_shard_that_was_replaced_writes_nothing_more() -> None:
    async def story(node: TransactionNode) -> None:
        old = node.transactions.shards.active(0)
        node.transactions.shards.reload(0)
        await node.transactions.shards.loaded()
        batches = len(node.log.batches[0])
        following = old.shard.abort_overdue("tx", fresh_producer_id=None, transaction_version=2, now_ms=10**9)
        assert following is not None
        assert await refusal(old.write((following,))) is ErrorCode.NOT_COORDINATOR
        assert len(node.log.batches[0]) == batches

    scenario(story, log_with(ongoing(1)))


def test_a_new_leader_epoch_is_the_coordinator_epoch_of_the_markers_from_then_on() -> None:
    async def story(node: TransactionNode) -> None:
        node.transactions.shards.become_leader(0, COORDINATOR_EPOCH)
        node.transactions.shards.become_leader(0, COORDINATOR_EPOCH + 1)
        await node.transactions.shards.loaded()
        await node.transactions.end_transaction("tx", ProducerIdentity(50, 1), 2, is_commit=True)
        await node.background_ended()
        assert [request.markers[0].coordinator_epoch for request in node.channel.requests] == [COORDINATOR_EPOCH + 1]

    scenario(story, log_with(ongoing(1)))


def test_markers_are_tried_again_whatever_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.broker.coordinators.transactions.shard_driver._RETRY_PAUSE_S", 0.0)

    async def story(node: TransactionNode) -> None:
        failures = iter([ValueError("nobody foresaw this")])

        def answer(_topic: str, _index: int) -> ErrorCode:
            for failure in failures:
                raise failure
            return ErrorCode.NONE

        node.channel.answer = answer
        await node.transactions.end_transaction("tx", ProducerIdentity(50, 1), 2, is_commit=True)
        await node.background_ended()
        assert node.channel.markers == [("t", 0, 2, True)]

    scenario(story, log_with(ongoing(1)))


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
