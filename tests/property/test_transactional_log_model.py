"""A log with transactions against its history: who is refused, what is stable, what readers of committed records see.

The model keeps the list of batches that were appended and decides everything by going through it from the beginning.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from harness.log_machine import FRACTIONS, NOW_MS, LogMachine
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch, parse_end_txn_marker
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import iterate_headers
from ottla.storage.log_config import LogConfig
from ottla.storage.transaction_verification import VerificationGuard

PRODUCERS = st.sampled_from([1, 2, 3])
EVENTS = ["1", "2", "3", "commit 1", "abort 1", "abort 2", "abort 3", "roll"]


@dataclass(frozen=True)
class Batch:
    first_offset: int
    count: int
    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    is_transactional: bool = False
    # Of a marker.
    is_commit: bool | None = None
    coordinator_epoch: int = -1

    @property
    def next_offset(self) -> int:
        return self.first_offset + self.count

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None


@dataclass
class Producer:
    epoch: int = -1
    coordinator_epoch: int = -1
    sent: list[Batch] = field(default_factory=list)
    open_since: int | None = None

    @property
    def next_sequence(self) -> int:
        return self.sent[-1].sequence + self.sent[-1].count if self.sent else 0


@dataclass
class Guard:
    """What the model knows of a question to a coordinator."""

    real: VerificationGuard
    epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool


@dataclass(frozen=True)
class Ended:
    producer_id: int
    first_offset: int
    marker_offset: int
    is_commit: bool


class Account:
    """What a history amounts to."""

    def __init__(self, history: list[Batch]) -> None:
        self.producers: dict[int, Producer] = {}
        self.ended: list[Ended] = []
        for batch in history:
            if batch.producer_id >= 0:
                self._add(batch)

    def _add(self, batch: Batch) -> None:
        producer = self.producers.setdefault(batch.producer_id, Producer())
        if batch.epoch != producer.epoch:
            producer.epoch, producer.sent = batch.epoch, []
        if batch.is_commit is None:
            producer.sent.append(batch)
            if batch.is_transactional and producer.open_since is None:
                producer.open_since = batch.first_offset
            return
        producer.coordinator_epoch = batch.coordinator_epoch
        if producer.open_since is not None:
            self.ended.append(Ended(batch.producer_id, producer.open_since, batch.first_offset, batch.is_commit))
            producer.open_since = None

    def told(self) -> dict[int, tuple[int, int, int, int | None]]:
        """As DescribeProducers tells it."""
        return {
            producer_id: (one.epoch, one.next_sequence - 1, one.coordinator_epoch, one.open_since)
            for producer_id, one in self.producers.items()
        }

    def first_unstable(self, high_watermark: int) -> int | None:
        undecided = [one.open_since for one in self.producers.values() if one.open_since is not None]
        undecided += [one.first_offset for one in self.ended if one.marker_offset >= high_watermark]
        return min(undecided, default=None)


class TransactionalLogModel(LogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.high_watermark = 0
        # What came before is not reflected in what the log knows of producers: it was deleted before a restart.
        self.known_from = 0
        # Where the knowledge of some snapshot may begin.
        self.beginnings = {0}
        self.guards: dict[int, Guard] = {}
        self.stale_guards: list[tuple[int, VerificationGuard]] = []

    @initialize(segment_bytes=st.integers(300, 1500), retention_bytes=st.sampled_from([-1, 500]))
    def open(self, segment_bytes: int, retention_bytes: int) -> None:
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=100,
            retention_bytes=retention_bytes,
            retention_ms=-1,
            file_delete_delay_ms=0,
            transaction_verification_enabled=True,
        )
        self.log = self.load(was_clean=True, recovery_point=0)

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    @property
    def committed_end(self) -> int:
        return self.high_watermark

    def account(self, known_from: int | None = None) -> Account:
        first = self.known_from if known_from is None else known_from
        return Account([batch for batch in self.batches if batch.first_offset >= first])

    def drop_guard(self, producer_id: int) -> None:
        guard = self.guards.pop(producer_id, None)
        if guard is not None:
            self.stale_guards.append((producer_id, guard.real))

    # Appending.

    @rule(count=st.integers(1, 3))
    def write_outside_of_transactions(self, count: int) -> None:
        self.append(Batch(self.end, count))

    @rule(producer_id=PRODUCERS, count=st.integers(1, 3), step=st.sampled_from([0, 0, 0, 0, 0, 3]))
    def write_in_a_transaction(self, producer_id: int, count: int, step: int) -> None:
        """The usual way: the coordinator is asked where there is something to ask; it agrees."""
        producer = self.account().producers.get(producer_id, Producer(epoch=0))
        self.begin(producer_id, producer.epoch, producer.next_sequence + step, supports_epoch_bump=True)
        self.write(producer_id, producer.epoch, producer.next_sequence + step, count, is_transactional=True)

    @rule(story=st.lists(st.sampled_from(EVENTS), min_size=8, max_size=25))
    def write_some_transactions(self, story: list[str]) -> None:
        """Without mistakes, so that there is something to read."""
        for event in story:
            word, _, number = event.rpartition(" ")
            if event == "roll":
                self.roll()
            elif word:
                self.end_a_transaction(int(number), word == "commit", 2, 1, 0)
            else:
                self.write_in_a_transaction(int(number), 1, 0)

    @rule(
        producer_id=PRODUCERS,
        bump=st.sampled_from([-1, 0, 0, 1]),
        step=st.sampled_from([0, 0, 2]),
        supports_epoch_bump=st.booleans(),
    )
    def ask_a_coordinator(self, producer_id: int, bump: int, step: int, supports_epoch_bump: bool) -> None:
        producer = self.account().producers.get(producer_id, Producer(epoch=0))
        sequence = (producer.next_sequence if bump == 0 else 0) + step
        self.begin(producer_id, producer.epoch + bump, sequence, supports_epoch_bump=supports_epoch_bump)

    def begin(self, producer_id: int, epoch: int, sequence: int, *, supports_epoch_bump: bool) -> None:
        producers = self.log.producers
        producer = self.account().producers.get(producer_id)
        is_open = producer is not None and producer.open_since is not None and producer.epoch == epoch
        assert producers.has_open_transaction(producer_id, epoch) == is_open
        if is_open:
            return
        real = producers.verification.begin(producer_id, epoch, sequence, supports_epoch_bump=supports_epoch_bump)
        guard = self.guards.get(producer_id)
        if guard is None:
            self.guards[producer_id] = Guard(real, epoch, sequence, supports_epoch_bump)
            return
        assert guard.real is real
        if epoch > guard.epoch:
            guard.epoch, guard.lowest_sequence = epoch, sequence
        elif epoch == guard.epoch:
            guard.lowest_sequence = min(guard.lowest_sequence, sequence)

    @rule(
        producer_id=PRODUCERS,
        bump=st.sampled_from([-1, 0, 0, 1]),
        step=st.sampled_from([0, 0, 2]),
        is_transactional=st.booleans(),
        has_guard=st.booleans(),
    )
    def write_somehow(self, producer_id: int, bump: int, step: int, is_transactional: bool, has_guard: bool) -> None:
        producer = self.account().producers.get(producer_id, Producer(epoch=0))
        if producer.epoch + bump < 0:
            return
        sequence = (producer.next_sequence if bump == 0 else 0) + step
        self.write(
            producer_id,
            producer.epoch + bump,
            sequence,
            1,
            is_transactional=is_transactional,
            has_guard=has_guard,
        )

    @rule(producer_id=PRODUCERS)
    def write_the_last_batch_again(self, producer_id: int) -> None:
        producer = self.account().producers.get(producer_id)
        if producer is not None and producer.sent:
            last = producer.sent[-1]
            outcome = self.try_write(last, None)
            assert outcome == last.first_offset

    @precondition(lambda self: self.stale_guards)
    @rule(number=st.integers(0, 100))
    def write_with_a_guard_of_a_transaction_that_is_over(self, number: int) -> None:
        producer_id, guard = self.stale_guards[number % len(self.stale_guards)]
        producer = self.account().producers.get(producer_id, Producer(epoch=0))
        if producer.open_since is None:
            batch = Batch(self.end, 1, producer_id, producer.epoch, producer.next_sequence, is_transactional=True)
            assert self.try_write(batch, guard) is ErrorCode.INVALID_TXN_STATE

    def write(
        self, producer_id: int, epoch: int, sequence: int, count: int, *, is_transactional: bool, has_guard: bool = True
    ) -> None:
        batch = Batch(self.end, count, producer_id, epoch, sequence, is_transactional)
        guard = self.guards.get(producer_id) if has_guard else None
        expected = self.judged(batch, guard)
        outcome = self.try_write(batch, guard.real if guard else None)
        assert outcome == (batch.first_offset if expected is None else expected)
        if expected is None:
            self.batches.append(batch)
            if is_transactional:
                self.drop_guard(producer_id)

    def judged(self, batch: Batch, guard: Guard | None) -> ErrorCode | None:
        producer = self.account().producers.get(batch.producer_id)
        is_open = producer is not None and producer.open_since is not None
        continues = producer is not None and is_open and producer.epoch == batch.epoch
        if batch.is_transactional and not continues and guard is None:
            return ErrorCode.INVALID_TXN_STATE
        if producer is not None and batch.epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        current = self.guards.get(batch.producer_id)
        if current is not None:
            if current.supports_epoch_bump and batch.sequence != 0 and not (producer and producer.sent):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            if batch.epoch == current.epoch and batch.sequence > current.lowest_sequence:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if producer is not None:
            expected = producer.next_sequence if producer.epoch == batch.epoch else 0
            if batch.sequence != expected:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if is_open and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return None

    def append(self, batch: Batch) -> None:
        assert self.try_write(batch, None) == batch.first_offset
        self.batches.append(batch)

    def try_write(self, batch: Batch, guard: VerificationGuard | None) -> int | ErrorCode:
        builder = BatchBuilder(
            producer_id=batch.producer_id,
            producer_epoch=batch.epoch,
            base_sequence=batch.sequence,
            is_transactional=batch.is_transactional,
        )
        for _ in range(batch.count):
            builder.append(b"key", b"v" * 20, timestamp_ms=NOW_MS)
        records = bytes(builder.build())
        try:
            return self.log.append_as_leader(records, leader_epoch=0, now_ms=NOW_MS, verification=guard).first_offset
        except ApiError as refused:
            return refused.code

    @rule(
        producer_id=PRODUCERS,
        is_commit=st.booleans(),
        version=st.sampled_from([0, 1, 2, 2, 2]),
        bump=st.sampled_from([-1, 0, 0, 1, 1, 1]),
        coordinator_bump=st.sampled_from([-1, 0, 0, 0, 1]),
    )
    def end_a_transaction(
        self, producer_id: int, is_commit: bool, version: int, bump: int, coordinator_bump: int
    ) -> None:
        producer = self.account().producers.get(producer_id, Producer(epoch=0, coordinator_epoch=0))
        epoch = max(producer.epoch + bump, 0)
        coordinator_epoch = max(producer.coordinator_epoch, 0) + coordinator_bump
        marker = end_txn_batch(
            producer_id=producer_id,
            producer_epoch=epoch,
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=NOW_MS,
        )
        batch = Batch(
            self.end, 1, producer_id, epoch, -1, True, is_commit=is_commit, coordinator_epoch=coordinator_epoch
        )
        expected = self.judged_marker(batch, version)
        try:
            info = self.log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS, transaction_version=version)
        except ApiError as refused:
            assert refused.code is expected
            return
        assert info.is_duplicate == (expected is ErrorCode.NONE)
        if expected is None:
            assert info.first_offset == self.end
            self.batches.append(batch)
            guard = self.guards.get(producer_id)
            # Where each transaction has an epoch, a marker of the guard's own ends the transaction before.
            if guard is not None and not (guard.supports_epoch_bump and epoch <= guard.epoch):
                self.drop_guard(producer_id)

    def judged_marker(self, batch: Batch, version: int) -> ErrorCode | None:
        """None if it is to be written, NONE if it is answered without."""
        producer = self.account().producers.get(batch.producer_id)
        if producer is None:
            return None
        is_repeated = version >= 2 and batch.epoch == producer.epoch
        if batch.epoch < producer.epoch or (is_repeated and producer.open_since is not None):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if batch.coordinator_epoch < producer.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE if is_repeated else None

    # Time passes.

    @rule(fraction=FRACTIONS)
    def replicate(self, fraction: float) -> None:
        ends = [batch.next_offset for batch in self.batches if batch.next_offset > self.high_watermark]
        if ends:
            self.high_watermark = ends[min(int(len(ends) * fraction), len(ends) - 1)]
            self.log.update_high_watermark(self.high_watermark)

    @rule(fraction=FRACTIONS)
    def truncate(self, fraction: float) -> None:
        places = [batch.first_offset for batch in self.batches if batch.first_offset >= self.start]
        if not places:
            return
        offset = places[min(int(len(places) * fraction), len(places) - 1)]
        self.log.truncate_to(offset, NOW_MS)
        self.batches = [batch for batch in self.batches if batch.first_offset < offset]
        # Snapshots do not know which markers are not replicated; who leads after a truncation has replicated all.
        self.log.update_high_watermark(offset)
        self.high_watermark = offset
        self.settle()

    @rule(is_killed=st.booleans())
    def restart(self, is_killed: bool) -> None:
        if is_killed:
            recovery_point = self.log.recovery_point
            self.log.abandon()
            self.log = self.load(was_clean=False, recovery_point=recovery_point)
        else:
            self.log.close(NOW_MS)
            self.log = self.load(was_clean=True, recovery_point=self.log.recovery_point)
        self.log.update_high_watermark(self.log.log_end_offset)
        self.high_watermark = self.log.log_end_offset
        self.settle()

    def settle(self) -> None:
        """Producers were found anew: in a snapshot, which knows as much as before, or in the batches that are left."""
        for producer_id in list(self.guards):
            self.drop_guard(producer_id)
        if self.log.log_start_offset != self.start:
            self.start = self.log.log_start_offset
        if self.log.log_end_offset != self.end:
            # All that is left of the log was deleted, and the rest is gone: it begins anew.
            assert self.log.log_end_offset == self.start
            self.batches.append(Batch(self.end, self.start - self.end))
        self.beginnings |= {self.start, *(segment.base_offset for segment in self.log.segments)}
        told = self.told()
        possible = [place for place in sorted(self.beginnings) if self.account(place).told() == told]
        assert possible, f"{told} comes from no part of the log that is known"
        assert possible[0] <= max(self.start, self.known_from)
        self.known_from = possible[0]

    # What is seen.

    def told(self) -> dict[int, tuple[int, int, int, int | None]]:
        return {
            state.producer_id: (
                state.epoch,
                state.last_sequence,
                state.coordinator_epoch,
                state.transaction_first_offset,
            )
            for state in self.log.producer_states()
        }

    @invariant()
    def producers_and_bounds_are_right(self) -> None:
        if not hasattr(self, "log"):
            return
        account = self.account()
        assert self.told() == account.told()
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        unstable = account.first_unstable(self.high_watermark)
        if unstable is None or unstable > self.high_watermark:
            assert self.log.last_stable_offset == self.high_watermark
        else:
            assert self.log.last_stable_offset == max(unstable, self.start)
        assert len(self.log.producers.verification) == len(self.guards)

    @rule(fraction=FRACTIONS, max_bytes=st.sampled_from([1, 200, 100_000]))
    def read_committed(self, fraction: float, max_bytes: int) -> None:
        """As a consumer does from anywhere: it is told of aborted transactions, and leaves their records out."""
        stable = self.log.last_stable_offset
        offset = first = self.start + int((stable - self.start) * fraction)
        seen: list[int] = []
        while offset < stable:
            read = self.log.read(
                offset, max_bytes, max_offset_exclusive=stable, min_one_batch=True, allow_blocking=True
            )
            aborted = self.log.aborted_transactions(offset, read.next_offset)
            assert [one.first_offset for one in aborted] == sorted(one.first_offset for one in aborted)
            assert self.log.aborted_in_memory(offset, read.next_offset) in (None, aborted)
            seen += visible(read.records, [(one.first_offset, one.producer_id) for one in aborted])
            assert read.next_offset > offset
            offset = read.next_offset
        outcomes = {
            (one.producer_id, place): one.is_commit
            for one in Account(self.batches).ended
            for place in range(one.first_offset, one.marker_offset)
        }
        expected = [
            batch.first_offset
            for batch in self.batches
            if first < batch.next_offset <= stable
            and not batch.is_marker
            and (not batch.is_transactional or outcomes.get((batch.producer_id, batch.first_offset), True))
        ]
        assert [place for place in seen if self.is_known(place)] == [o for o in expected if self.is_known(o)]

    def is_known(self, offset: int) -> bool:
        """Whether there is a batch of ours, and not only a hole that a restart left."""
        return any(batch.first_offset == offset and not self.is_hole(batch) for batch in self.batches)

    def is_hole(self, batch: Batch) -> bool:
        return batch.next_offset <= self.start

    @precondition(lambda self: hasattr(self, "log") and self.known_from == 0 and self.start == 0)
    @rule()
    def list_aborted_transactions(self) -> None:
        found = self.log.aborted_transactions(0, self.end)
        expected = sorted(
            (one.first_offset, one.producer_id, one.marker_offset) for one in self.account().ended if not one.is_commit
        )
        assert [(one.first_offset, one.producer_id, one.last_offset) for one in found] == expected


def visible(records: bytes, aborted: list[tuple[int, int]]) -> list[int]:
    """The base offsets of the batches that a consumer hands to its application."""
    left = list(aborted)
    void: set[int] = set()
    seen = []
    for position, header in iterate_headers(records):
        while left and left[0][0] <= header.last_offset:
            void.add(left.pop(0)[1])
        if header.is_control:
            marker = parse_end_txn_marker(memoryview(records)[position : position + header.size_bytes], header)
            if marker is not None and not marker.is_commit:
                void.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in void):
            seen.append(header.base_offset)
    return seen


TestTransactionalLogModel = TransactionalLogModel.TestCase
TestTransactionalLogModel.settings = settings(max_examples=150, stateful_step_count=30)
