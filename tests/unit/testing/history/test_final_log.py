"""What is promised, by kind of producer and offset."""

import pytest

from ottla.testing.history import DURABLE, ProducerKind, Promise, RecordState

ALL, ONE = ProducerKind.IDEMPOTENT, ProducerKind.ACKS_1


@pytest.mark.parametrize(
    ("promise", "kept"),
    [
        (DURABLE, {(ALL, 0), (ALL, 9), (ONE, 0), (ONE, 9)}),
        (Promise(keeps_acks_1=False), {(ALL, 0), (ALL, 9)}),
        (Promise(keeps_acks_1=False, flushed_offset=5), {(ALL, 0), (ALL, 9), (ONE, 0)}),
        (Promise(keeps_acks_all=False), set()),
        (Promise(keeps_acks_all=False, flushed_offset=5), {(ALL, 0), (ONE, 0)}),
    ],
)
def test_a_promise_keeps_records_by_their_acknowledgement_and_offset(
    promise: Promise, kept: set[tuple[ProducerKind, int]]
) -> None:
    assert {(kind, offset) for kind in (ALL, ONE) for offset in (0, 9) if promise.keeps(kind, offset)} == kept


def test_a_record_that_was_read_stays_even_if_only_the_leader_acknowledged_it() -> None:
    assert Promise(keeps_acks_1=False).keeps_reads(9)
    assert not Promise(keeps_acks_all=False, flushed_offset=9).keeps_reads(9)


def test_readers_of_committed_records_see_plain_and_committed_ones() -> None:
    assert {state for state in RecordState if state.is_visible} == {RecordState.PLAIN, RecordState.COMMITTED}
