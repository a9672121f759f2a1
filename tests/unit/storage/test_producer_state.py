from pathlib import Path

import pytest

from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import MAX_SEQUENCE, BatchHeader, parse_header
from ottla.storage import producer_state
from ottla.storage.errors import DamagedFile
from ottla.storage.producer_snapshot import ProducerEntry, decode_snapshot, encode_snapshot, pack_entry
from ottla.storage.producer_state import CHANGED_MAX, AppendOrigin, ProducerStates
from ottla.storage.transaction_verification import VerificationGuard

NOW_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
CLIENT = AppendOrigin.CLIENT


@pytest.fixture
def producers() -> ProducerStates:
    return ProducerStates("t-0")


@pytest.fixture
def header(make_batch):
    def make(sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 7, is_transactional: bool = False):
        batch = make_batch(
            count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        return parse_header(batch)

    return make


def marker(producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    return parse_header(
        end_txn_batch(
            producer_id=producer_id, producer_epoch=epoch, is_commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS
        )
    )


def entries_of(producers: ProducerStates) -> list[ProducerEntry]:
    return decode_snapshot(Path("x"), producers.to_snapshot())


def refusal(producers: ProducerStates, batch: BatchHeader) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        producers.check(batch, CLIENT)
    assert "t-0" in refused.value.message
    return refused.value.code


def marker_refusal(producers: ProducerStates, epoch: int, coordinator_epoch: int, version: int) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        producers.check_marker(marker(epoch=epoch), coordinator_epoch, version)
    assert "t-0" in refused.value.message
    return refused.value.code


def guarded(producers: ProducerStates, batch: BatchHeader, guard: VerificationGuard | None) -> ErrorCode | None:
    """What a batch that comes with a guard is refused with, None if it may be appended."""
    try:
        assert producers.check(batch, CLIENT, guard, needs_guard=True) is None
    except ApiError as refused:
        return refused.code
    return None


def test_sequences_must_follow_each_other(producers, header) -> None:
    producers.update(header(0, 3), 0)
    assert producers.check(header(3), CLIENT) is None
    assert refusal(producers, header(4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(producers, header(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_each_of_the_last_five_batches_is_known_again(producers, header) -> None:
    for number in range(7):
        producers.update(header(2 * number, 2), 10 * number)
    for number in range(2, 7):
        original = producers.check(header(2 * number, 2), CLIENT)
        assert original is not None
        assert (original.first_offset, original.last_offset) == (10 * number, 10 * number + 1)
    assert refusal(producers, header(2, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_part_of_a_known_batch_is_no_duplicate(producers, header) -> None:
    producers.update(header(0, 4), 0)
    assert refusal(producers, header(0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_continue_at_zero_after_the_largest(producers, header) -> None:
    producers.update(header(MAX_SEQUENCE - 1, 2), 0)
    assert producers.check(header(0), CLIENT) is None
    producers.update(header(0), 2)
    assert producers.check(header(1), CLIENT) is None


def test_a_batch_may_run_over_the_largest_sequence(producers, header) -> None:
    wrapping = header(MAX_SEQUENCE, 3)
    producers.update(wrapping, 0)
    assert producers.check(header(2), CLIENT) is None
    assert producers.check(wrapping, CLIENT) is not None


def test_an_unknown_producer_may_begin_anywhere(producers, header) -> None:
    assert producers.check(header(500), CLIENT) is None


def test_a_new_epoch_begins_at_zero_and_fences_the_old(producers, header) -> None:
    producers.update(header(0), 0)
    assert refusal(producers, header(1, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    producers.update(header(0, epoch=1), 1)
    assert refusal(producers, header(1, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.check(header(1, epoch=1), CLIENT) is None


def test_a_batch_outside_of_an_open_transaction_is_refused(producers, header) -> None:
    producers.update(header(0, is_transactional=True), 0)
    assert refusal(producers, header(1)) is ErrorCode.INVALID_TXN_STATE


def test_the_first_unstable_offset_is_the_first_of_the_oldest_transaction(producers, header) -> None:
    assert producers.first_unstable_offset is None
    producers.update(header(0, is_transactional=True), 5)
    producers.update(header(1, is_transactional=True), 8)
    producers.update(header(0, producer_id=8, is_transactional=True), 6)
    assert producers.first_unstable_offset == 5
    ended = producers.end_transaction(marker(), 9, is_commit=False, coordinator_epoch=0)
    assert ended is not None
    assert (ended.first_offset, ended.last_offset, ended.is_aborted) == (5, 9, True)
    assert producers.stable_offset_after(ended) == 6
    assert producers.first_unstable_offset == 5, "the marker is not replicated"
    producers.forget_replicated(10)
    assert producers.first_unstable_offset == 6


def test_a_marker_without_a_transaction_ends_nothing(producers) -> None:
    assert producers.end_transaction(marker(), 3, is_commit=True, coordinator_epoch=0) is None
    assert producers.first_unstable_offset is None


def test_markers_of_older_coordinators_and_producers_are_refused(producers, header) -> None:
    producers.update(header(0, epoch=2, is_transactional=True), 0)
    producers.end_transaction(marker(epoch=2), 1, is_commit=True, coordinator_epoch=5)
    assert producers.check_marker(marker(epoch=2), 5, 0)
    assert marker_refusal(producers, 2, 4, 0) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert marker_refusal(producers, 1, 5, 0) is ErrorCode.INVALID_PRODUCER_EPOCH
    # As in Kafka: that of the producer first.
    assert marker_refusal(producers, 1, 4, 0) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_has_the_next_epoch_if_every_transaction_has_its_own(producers, header) -> None:
    producers.update(header(0, epoch=2, is_transactional=True), 0)
    assert marker_refusal(producers, 2, 0, 2) is ErrorCode.INVALID_PRODUCER_EPOCH, "of the transaction before"
    assert marker_refusal(producers, 1, 0, 2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.check_marker(marker(epoch=3), 0, 2)
    producers.end_transaction(marker(epoch=3), 1, is_commit=True, coordinator_epoch=5)
    assert not producers.check_marker(marker(epoch=3), 5, 2), "it has come before"
    assert marker_refusal(producers, 3, 4, 2) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert producers.check_marker(marker(epoch=4), 5, 2)
    assert producers.check_marker(marker(9), 0, 2), "an unknown producer"


def test_the_epoch_of_a_marker_begins_with_its_own_sequences(producers, header) -> None:
    producers.update(header(0, 3, is_transactional=True), 0)
    producers.end_transaction(marker(epoch=1), 3, is_commit=True, coordinator_epoch=0)
    assert refusal(producers, header(3, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(producers, header(3, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header(0, epoch=1), CLIENT) is None


def test_sequences_go_on_after_a_marker_of_the_same_epoch(producers, header) -> None:
    producers.update(header(0, 3, is_transactional=True), 0)
    producers.end_transaction(marker(), 3, is_commit=True, coordinator_epoch=0)
    assert refusal(producers, header(0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header(3), CLIENT) is None


def test_a_batch_that_begins_a_transaction_needs_the_guard_that_is_current(producers, header) -> None:
    first = header(0, is_transactional=True)
    assert guarded(producers, first, None) is ErrorCode.INVALID_TXN_STATE
    guard = producers.verification.begin(7, 0, 0, supports_epoch_bump=False)
    assert guarded(producers, first, None) is ErrorCode.INVALID_TXN_STATE
    assert guarded(producers, header(0, producer_id=8, is_transactional=True), guard) is ErrorCode.INVALID_TXN_STATE
    assert guarded(producers, first, guard) is None
    producers.update(first, 0)
    assert len(producers.verification) == 0
    assert guarded(producers, header(1, is_transactional=True), None) is None, "the transaction is open"
    assert guarded(producers, header(0, epoch=1, is_transactional=True), None) is ErrorCode.INVALID_TXN_STATE


def test_a_marker_makes_a_guard_stale(producers, header) -> None:
    guard = producers.verification.begin(7, 0, 0, supports_epoch_bump=False)
    producers.end_transaction(marker(), 0, is_commit=False, coordinator_epoch=0)
    first = header(0, is_transactional=True)
    assert guarded(producers, first, guard) is ErrorCode.INVALID_TXN_STATE
    another = producers.verification.begin(7, 0, 0, supports_epoch_bump=False)
    assert guarded(producers, first, guard) is ErrorCode.INVALID_TXN_STATE
    assert guarded(producers, first, another) is None


def test_a_late_marker_of_the_transaction_before_leaves_the_guard_of_the_next_one(producers, header) -> None:
    guard = producers.verification.begin(7, 1, 0, supports_epoch_bump=True)
    producers.end_transaction(marker(epoch=1), 0, is_commit=True, coordinator_epoch=0)
    assert guarded(producers, header(0, epoch=1, is_transactional=True), guard) is None


def test_a_marker_of_the_guarded_transaction_fences_its_writer(producers, header) -> None:
    guard = producers.verification.begin(7, 1, 0, supports_epoch_bump=True)
    producers.end_transaction(marker(epoch=2), 0, is_commit=False, coordinator_epoch=0)
    first = header(0, epoch=1, is_transactional=True)
    assert guarded(producers, first, guard) is ErrorCode.INVALID_TXN_STATE
    again = producers.verification.begin(7, 1, 0, supports_epoch_bump=True)
    assert guarded(producers, first, again) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_duplicate_needs_no_guard(producers, header) -> None:
    batch = header(0, is_transactional=True)
    producers.update(batch, 4)
    original = producers.check(batch, CLIENT, needs_guard=True)
    assert original is not None
    assert original.first_offset == 4


def test_a_batch_with_the_sequence_of_an_ended_transaction_is_no_duplicate(producers, header) -> None:
    before = header(0, is_transactional=True)
    producers.update(before, 4)
    producers.end_transaction(marker(), 5, is_commit=False, coordinator_epoch=0)
    guard = producers.verification.begin(7, 0, 0, supports_epoch_bump=False)
    assert guarded(producers, before, guard) is ErrorCode.INVALID_TXN_STATE
    following = header(1, is_transactional=True)
    producers.update(following, 6)
    assert guarded(producers, before, None) is ErrorCode.INVALID_TXN_STATE
    assert producers.check(following, CLIENT) is not None


def test_a_batch_that_overtook_the_first_of_its_transaction_has_to_come_again(producers, header) -> None:
    guard = producers.verification.begin(7, 0, 2, supports_epoch_bump=False)
    assert producers.verification.begin(7, 0, 0, supports_epoch_bump=False) is guard
    late = header(2, is_transactional=True)
    assert guarded(producers, late, guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    first = header(0, 2, is_transactional=True)
    assert guarded(producers, first, guard) is None
    producers.update(first, 0)
    assert guarded(producers, late, guard) is None


def test_who_pretends_to_be_of_a_newer_epoch_does_not_hold_up_the_true_producer(producers, header) -> None:
    producers.update(header(0, 5), 0)
    guard = producers.verification.begin(7, 0, 5, supports_epoch_bump=False)
    producers.verification.begin(7, 9, 0, supports_epoch_bump=True)
    assert guarded(producers, header(5, is_transactional=True), guard) is None


def test_an_unknown_producer_begins_at_zero_if_every_transaction_has_its_own_epoch(producers, header) -> None:
    guard = producers.verification.begin(7, 0, 3, supports_epoch_bump=True)
    assert guarded(producers, header(3, is_transactional=True), guard) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    older = producers.verification.begin(8, 0, 3, supports_epoch_bump=False)
    assert guarded(producers, header(3, producer_id=8, is_transactional=True), older) is None


def test_a_coordinators_batch_has_no_sequence_but_needs_a_guard(producers, header) -> None:
    batch = header(-1, is_transactional=True)
    guard = producers.verification.begin(7, 0, -1, supports_epoch_bump=True)
    with pytest.raises(ApiError) as refused:
        producers.check(batch, AppendOrigin.COORDINATOR, needs_guard=True)
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
    assert producers.check(batch, AppendOrigin.COORDINATOR, guard, needs_guard=True) is None


def test_idle_producers_are_forgotten_unless_they_have_a_transaction(producers, header) -> None:
    producers.update(header(0), 0)
    producers.update(header(0, producer_id=8, is_transactional=True), 1)
    assert producers.expire(NOW_MS + DAY_MS - 1, DAY_MS) == 0
    assert producers.expire(NOW_MS + DAY_MS, DAY_MS) == 1
    assert [state.producer_id for state in producers.all()] == [8]


def test_a_snapshot_brings_the_state_back(producers, header) -> None:
    producers.update(header(0, 3), 0)
    producers.update(header(0, producer_id=8, epoch=4, is_transactional=True), 3)
    producers.end_transaction(marker(9), 4, is_commit=True, coordinator_epoch=2)
    entries = entries_of(producers)
    restored = ProducerStates("t-0")
    restored.load_entries(entries, 5, NOW_MS, DAY_MS)
    assert restored.map_end_offset == 5
    assert entries_of(restored) == entries
    assert restored.first_unstable_offset == 3
    original = restored.check(header(0, 3), CLIENT)
    assert original is not None
    assert original.first_offset == 0
    assert restored.check(header(3), CLIENT) is None


def test_a_snapshot_leaves_expired_producers_behind(producers, header) -> None:
    producers.update(header(0), 0)
    restored = ProducerStates("t-0")
    restored.load_entries(entries_of(producers), 1, NOW_MS + DAY_MS, DAY_MS)
    assert len(restored) == 0


def test_a_snapshot_of_many_producers_is_ready_but_for_the_latest(producers, header, monkeypatch) -> None:
    for producer_id in range(2000):
        producers.update(header(0, producer_id=producer_id), producer_id)
    packed: list[int] = []

    def counted(entry: ProducerEntry) -> bytes:
        packed.append(entry.producer_id)
        return pack_entry(entry)

    monkeypatch.setattr(producer_state, "pack_entry", counted)
    assert sorted(entries_of(producers)) == [state.to_entry() for state in producers.all()]
    assert len(packed) < CHANGED_MAX
    packed.clear()
    producers.update(header(1, producer_id=3), 2000)
    producers.end_transaction(marker(4), 2001, is_commit=True, coordinator_epoch=5)
    assert sorted(entries_of(producers)) == [state.to_entry() for state in producers.all()]
    assert sorted(packed) == [3, 4]


def test_a_snapshot_holds_nobody_who_was_forgotten(producers, header) -> None:
    producers.update(header(0), 0)
    producers.to_snapshot()
    producers.update(header(0, producer_id=8), 1)
    producers.expire(NOW_MS + DAY_MS, DAY_MS)
    assert entries_of(producers) == []
    producers.update(header(0), 2)
    producers.to_snapshot()
    producers.clear(0)
    assert entries_of(producers) == []


def test_the_snapshot_has_kafkas_bytes() -> None:
    data = encode_snapshot([pack_entry(ProducerEntry(1, 2, 3, 4, 5, 6, 7, -1))])
    assert data[:2] == b"\0\1"
    assert data[6:] == bytes.fromhex(
        "000000010000000000000001000200000003000000000000000400000005000000000000000600000007ffffffffffffffff"
    )


def test_every_damage_of_a_snapshot_is_noticed() -> None:
    data = encode_snapshot([pack_entry(ProducerEntry(1, 2, 3, 4, 5, 6, 7, -1))])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(DamagedFile):
            decode_snapshot(Path("x"), bytes(damaged))
        with pytest.raises(DamagedFile):
            decode_snapshot(Path("x"), data[:position])


def test_the_first_unstable_offset_is_known_without_looking_through_all_transactions(producers, header) -> None:
    for number in range(1000):
        producers.update(header(0, producer_id=number, is_transactional=True), number)
    assert producers.first_unstable_offset == 0
    # They end in another order than they began, and are replicated in the order in which they ended.
    for count, number in enumerate([*range(999, 0, -1), 0]):
        producers.end_transaction(marker(number), 1000 + count, is_commit=True, coordinator_epoch=0)
        assert producers.first_unstable_offset == 0
    producers.forget_replicated(1999)
    assert producers.first_unstable_offset == 0, "its marker is not replicated"
    producers.forget_replicated(2000)
    assert producers.first_unstable_offset is None
    assert not producers._unstable
    assert not producers._ended


def test_open_transactions_of_a_snapshot_are_found_in_the_order_of_their_offsets(producers, header) -> None:
    for offset, producer_id in ((0, 1), (1, 2), (2, 3)):
        producers.update(header(0, producer_id=producer_id, is_transactional=True), offset)
    restored = ProducerStates("t-0")
    restored.load_entries(entries_of(producers)[::-1], 3, NOW_MS, DAY_MS)
    assert restored.first_unstable_offset == 0
    restored.end_transaction(marker(1), 3, is_commit=True, coordinator_epoch=0)
    restored.forget_replicated(4)
    assert restored.first_unstable_offset == 1
