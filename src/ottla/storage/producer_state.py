"""What a log knows of the producers that write to it: sequences for idempotence, open transactions for stability.

Guarantee (KIP-98). A batch of an idempotent producer is appended once and in order. Per producer id the last five
batches are remembered; one of them sent again is answered with its original offset. A gap is
OUT_OF_ORDER_SEQUENCE_NUMBER, an older epoch INVALID_PRODUCER_EPOCH. Sequences continue at 0 after 2^31-1, and begin
at 0 in a new epoch.

The first offset of each open transaction is kept; together with finished ones whose marker is not yet below the high
watermark they bound the last stable offset. A batch that would begin a transaction needs a guard, see
`transaction_verification`; one outside of a transaction that is open is INVALID_TXN_STATE.

Markers. Up to transaction.version 1 a marker has the epoch of the transaction's batches, or a later one. From 2 on
(KIP-890) every transaction has its own epoch and the marker the next, so that one of the epoch that is known here has
come before, unless a transaction of that epoch is open: then it is of an earlier one, and refused. A marker of a
coordinator that was replaced is TRANSACTION_COORDINATOR_FENCED.

After a restart. A snapshot, in Kafka's format, holds the newest batch of each producer alone, and a client may repeat
all five. So a producer that a snapshot brought back is among the `restored` until its window is known: when a batch
comes that may be an older one, the log looks that producer's batches up (`producer_replay.recall`), once, and gives
them to `add_history`. Nothing is read at a start, when a thousand logs are opened and few clients have anything to
repeat, nor for a batch that is next in order. Kafka refuses such a batch, and its client gives up or writes it again.

State changes only with the log: `check` decides before the write, `update` and `end_transaction` follow it. It can
always be rebuilt from the batches; snapshots shorten that. `map_end_offset` is the offset up to which the log is
reflected here.

A snapshot is made at each roll, while an append waits. So that it costs little even with a hundred thousand producers,
each has its part of the file ready; those who wrote meanwhile get theirs anew a few at a time, not all at the roll.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from ottla.storage.producer_snapshot import ProducerEntry, encode_snapshot, pack_entry
from ottla.storage.transaction_verification import TransactionVerification, VerificationGuard

BATCHES_REMEMBERED = 5
# Parts of the snapshot that wait to be made anew, at most.
CHANGED_MAX = 256
_NO_COORDINATOR_EPOCH = -1
_NO_OFFSET = -1


class AppendOrigin(Enum):
    """Who appends, and so what has to be checked."""

    CLIENT = "client"
    COORDINATOR = "coordinator"


class ProducerBatch(NamedTuple):
    """A batch that was appended."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


_NO_BATCH = ProducerBatch(-1, NO_SEQUENCE, _NO_OFFSET, 0, NO_TIMESTAMP)


class EndedTransaction(NamedTuple):
    """A transaction whose marker was just appended."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerState:
    """One producer id in one partition."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp_ms",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NO_PRODUCER_EPOCH
        self.batches: deque[ProducerBatch] = deque(maxlen=BATCHES_REMEMBERED)
        self.coordinator_epoch = _NO_COORDINATOR_EPOCH
        self.last_timestamp_ms = NO_TIMESTAMP
        self.transaction_first_offset: int | None = None

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else _NO_OFFSET

    def has_ended(self, batch: ProducerBatch) -> bool:
        """Whether a batch of a transactional producer belongs to a transaction that is over.

        Then a batch with its sequence does not repeat it: a producer ends a transaction only when it waits for no
        answer. It comes late, or is another batch, of a client that gave up the first one although it was sent, and
        used its sequence again (librdkafka, at an abort). Kafka acknowledges that one without writing it.
        """
        first_offset = self.transaction_first_offset
        return first_offset is None or batch.last_offset < first_offset

    def adopt_epoch(self, epoch: int) -> None:
        """A new epoch begins with its own sequences."""
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def to_entry(self) -> ProducerEntry:
        """What a snapshot holds of it."""
        batch = self.batches[-1] if self.batches else _NO_BATCH
        first_offset = self.transaction_first_offset
        return ProducerEntry(
            self.producer_id,
            self.epoch,
            batch.last_sequence,
            batch.last_offset,
            batch.offset_delta,
            self.last_timestamp_ms,
            self.coordinator_epoch,
            _NO_OFFSET if first_offset is None else first_offset,
        )


class ProducerStates:
    """The producers of one log."""

    __slots__ = (
        "_bounding",
        "_changed",
        "_ended",
        "_open",
        "_packed",
        "_producers",
        "_topic_partition",
        "_unstable",
        "first_unstable_offset",
        "map_end_offset",
        "restored",
        "verification",
    )

    def __init__(self, topic_partition: str) -> None:
        self._topic_partition = topic_partition
        self.verification = TransactionVerification()
        self._producers: dict[int, ProducerState] = {}
        # Those of whom the log may have older batches than are remembered here.
        self.restored: set[int] = set()
        # What a snapshot holds of each producer, and who has changed since.
        self._packed: dict[int, bytes] = {}
        self._changed: set[int] = set()
        # First offset -> producer id of open transactions, and of those with the ended ones that are not yet
        # replicated. Transactions begin at ascending offsets, so that the first in order is the smallest.
        self._open: OrderedDict[int, int] = OrderedDict()
        self._unstable: OrderedDict[int, int] = OrderedDict()
        # Marker's offset and first offset of the ended ones, in the order of their markers.
        self._ended: deque[tuple[int, int]] = deque()
        # The first offset of a transaction whose outcome is open, or decided but not yet replicated; asked for at each
        # fetch, by any thread.
        self.first_unstable_offset: int | None = None
        # The high watermark may move while a thread appends.
        self._bounding = threading.Lock()
        self.map_end_offset = 0

    def __len__(self) -> int:
        return len(self._producers)

    def all(self) -> list[ProducerState]:
        """Every producer known now."""
        return list(self._producers.values())

    def get(self, producer_id: int) -> ProducerState | None:
        return self._producers.get(producer_id)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a batch of a producer in an epoch continues a transaction that was begun here in it."""
        state = self._producers.get(producer_id)
        return state is not None and state.transaction_first_offset is not None and state.epoch == epoch

    def oldest_open_write_ms(self) -> int | None:
        """When the last record was written of that open transaction whose last record is oldest; None without one."""
        open_producers = [self._producers.get(producer_id) for producer_id in list(self._open.values())]
        return min((state.last_timestamp_ms for state in open_producers if state is not None), default=None)

    # Decisions before an append.

    def check(
        self,
        header: BatchHeader,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        *,
        needs_guard: bool = False,
    ) -> ProducerBatch | None:
        """Whether a batch may be appended: ApiError if not, the original of a duplicate, None if it is the next.

        If it `needs_guard`, a batch that begins a transaction has to come with the guard that is current.
        """
        producer_id = header.producer_id
        state = self._producers.get(producer_id)
        epoch = header.producer_epoch
        is_client = origin is AppendOrigin.CLIENT
        is_transactional = header.attributes & TRANSACTIONAL_FLAG
        if is_client and state is not None and epoch == state.epoch:
            first, last = header.base_sequence, header.last_sequence
            for batch in state.batches:
                if batch.first_sequence == first and batch.last_sequence == last:
                    if is_transactional and state.has_ended(batch):
                        # The client aborts its transaction, and begins another with sequences of its own.
                        raise ApiError(
                            ErrorCode.INVALID_TXN_STATE,
                            f"Producer {producer_id} sent sequence {first} to partition {self._topic_partition} in a "
                            f"transaction that has ended; a batch of the next one must not use it again.",
                        )
                    return batch
        if is_transactional and needs_guard:
            self._require_guard(producer_id, epoch, guard)
        self.check_epoch(producer_id, epoch)
        if is_client:
            if self.verification:
                has_batches = state is not None and bool(state.batches)
                self.verification.check_sequence(header, has_batches=has_batches, topic_partition=self._topic_partition)
            if state is not None:
                self._check_sequence(state, header)
        if state is not None and state.transaction_first_offset is not None and not is_transactional:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {producer_id} has an open transaction in partition {self._topic_partition}; "
                f"a batch outside of it is refused.",
            )
        return None

    def are_next(self, headers: Sequence[BatchHeader]) -> bool:
        """Whether batches of idempotent producers, none transactional, are new and follow what is here, and each other.

        False if one has to be looked at alone; ApiError if one is refused that has none of its producer before it.
        """
        last: dict[int, BatchHeader] = {}
        for header in headers:
            producer_id = header.producer_id
            before = last.get(producer_id)
            if before is not None:
                if not header.continues(before):
                    return False
            elif producer_id in self.restored or self.check(header, AppendOrigin.CLIENT) is not None:
                return False
            last[producer_id] = header
        return True

    def lacking_history(self, header: BatchHeader) -> ProducerState | None:
        """The restored producer of a batch if that may repeat one from before what is remembered; else None."""
        state = self._producers.get(header.producer_id)
        if state is None or header.producer_epoch != state.epoch or not state.batches:
            return None
        if len(state.batches) == BATCHES_REMEMBERED:
            self.restored.discard(header.producer_id)
            return None
        behind = (state.batches[0].first_sequence - header.base_sequence) & MAX_SEQUENCE
        # Sequences go round: what is more than half of the way behind is ahead.
        return state if 0 < behind <= MAX_SEQUENCE // 2 else None

    def add_history(self, state: ProducerState, older: list[ProducerBatch]) -> None:
        """The batches of a restored producer that come before those remembered, newest first, as far as they are known.

        From now on its window is as good as it gets.
        """
        self.restored.discard(state.producer_id)
        for batch in older[: BATCHES_REMEMBERED - len(state.batches)]:
            state.batches.appendleft(batch)

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """ApiError for a producer whose epoch is over."""
        state = self._producers.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Producer {producer_id} of partition {self._topic_partition} has epoch {state.epoch} already; "
                f"a batch of epoch {epoch} is refused.",
            )

    def _require_guard(self, producer_id: int, epoch: int, guard: VerificationGuard | None) -> None:
        if not self.has_open_transaction(producer_id, epoch) and not self.verification.is_current(producer_id, guard):
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {producer_id} has no transaction in partition {self._topic_partition} that its coordinator "
                f"knows of, or it ended just now; begin another.",
            )

    def check_marker(self, header: BatchHeader, coordinator_epoch: int, transaction_version: int) -> bool:
        """Whether an end-of-transaction marker is to be appended; False if it has been before.

        ApiError if its coordinator or producer is fenced.
        """
        state = self._producers.get(header.producer_id)
        if state is None:
            return True
        epoch = header.producer_epoch
        is_repeated = transaction_version >= EPOCH_BUMP_VERSION and epoch == state.epoch
        if epoch < state.epoch or (is_repeated and state.transaction_first_offset is not None):
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Producer {header.producer_id} of partition {self._topic_partition} has epoch {state.epoch} already; "
                f"a marker of epoch {epoch} in transaction version {transaction_version} is refused.",
            )
        if coordinator_epoch < state.coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"A marker of coordinator epoch {coordinator_epoch} for producer {header.producer_id} is refused in "
                f"partition {self._topic_partition}: epoch {state.coordinator_epoch} was here before.",
            )
        return not is_repeated

    def _check_sequence(self, state: ProducerState, header: BatchHeader) -> None:
        first = header.base_sequence
        if header.producer_epoch != state.epoch:
            expected = 0
        else:
            last = state.last_sequence
            expected = 0 if last == MAX_SEQUENCE else last + 1
        # Without an epoch every trace of the producer's batches is gone: any sequence may follow.
        if first != expected and state.epoch != NO_PRODUCER_EPOCH:
            raise ApiError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {header.producer_id} sent sequence {first} to partition {self._topic_partition}, "
                f"{expected} is expected next.",
            )

    # Changes that follow an append.

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """A data batch was appended at an offset."""
        producer_id = header.producer_id
        state = self._producers.get(producer_id)
        if state is None:
            state = self._producers[producer_id] = ProducerState(producer_id)
        if header.producer_epoch != state.epoch:
            state.adopt_epoch(header.producer_epoch)
        self._changed.add(producer_id)
        delta = header.last_offset_delta
        state.batches.append(
            ProducerBatch(header.base_sequence, header.last_sequence, base_offset + delta, delta, header.max_timestamp)
        )
        state.last_timestamp_ms = header.max_timestamp
        if header.attributes & TRANSACTIONAL_FLAG:
            if state.transaction_first_offset is None:
                state.transaction_first_offset = base_offset
                self._begin_transaction(producer_id, base_offset)
            self.verification.drop(producer_id)
        if len(self._changed) >= CHANGED_MAX:
            self._pack_changed()

    def end_transaction(
        self, header: BatchHeader, base_offset: int, *, is_commit: bool, coordinator_epoch: int
    ) -> EndedTransaction | None:
        """A marker was appended at an offset; the transaction that it ended, None if there was none open."""
        producer_id = header.producer_id
        state = self._producers.get(producer_id)
        if state is None:
            state = self._producers[producer_id] = ProducerState(producer_id)
        self.verification.ended(producer_id, header.producer_epoch)
        state.adopt_epoch(header.producer_epoch)
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp_ms = header.max_timestamp
        first_offset, state.transaction_first_offset = state.transaction_first_offset, None
        self._changed.add(producer_id)
        if len(self._changed) >= CHANGED_MAX:
            self._pack_changed()
        if first_offset is None:
            return None
        self._open.pop(first_offset, None)
        self._ended.append((base_offset, first_offset))
        return EndedTransaction(producer_id, first_offset, base_offset, not is_commit)

    def stable_offset_after(self, ended: EndedTransaction) -> int:
        """The last stable offset that the end of a transaction allows."""
        return next(iter(self._open), ended.last_offset + 1)

    # Bounds and ageing.

    def forget_replicated(self, high_watermark: int) -> None:
        """Transactions whose marker is below the high watermark are decided for every replica."""
        ended = self._ended
        if not ended or ended[0][0] >= high_watermark:
            return
        with self._bounding:
            while ended and ended[0][0] < high_watermark:
                self._unstable.pop(ended.popleft()[1], None)
            self.first_unstable_offset = next(iter(self._unstable), None)

    def _begin_transaction(self, producer_id: int, first_offset: int) -> None:
        self._open[first_offset] = producer_id
        with self._bounding:
            self._unstable[first_offset] = producer_id
            if self.first_unstable_offset is None:
                self.first_unstable_offset = first_offset

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have been idle for too long, and questions about their transactions; how many."""
        idle = [
            state.producer_id
            for state in self._producers.values()
            if state.transaction_first_offset is None and now_ms - state.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in idle:
            del self._producers[producer_id]
            self._packed.pop(producer_id, None)
        self._changed.difference_update(idle)
        self.restored.difference_update(idle)
        self.verification.expire(now_ms, expiration_ms)
        return len(idle)

    def clear(self, map_end_offset: int) -> None:
        """Forget everything."""
        self._producers.clear()
        self.restored.clear()
        self._packed.clear()
        self._changed.clear()
        self.verification.clear()
        self._open.clear()
        self._unstable.clear()
        self._ended.clear()
        self.first_unstable_offset = None
        self.map_end_offset = map_end_offset

    def to_snapshot(self) -> bytes:
        """The content of a snapshot file."""
        self._pack_changed()
        return encode_snapshot(self._packed.values())

    def _pack_changed(self) -> None:
        for producer_id in self._changed:
            self._packed[producer_id] = pack_entry(self._producers[producer_id].to_entry())
        self._changed.clear()

    def load_entries(self, entries: list[ProducerEntry], map_end_offset: int, now_ms: int, expiration_ms: int) -> None:
        """Take over a snapshot made at an offset, without the producers that have been idle for too long."""
        self.clear(map_end_offset)
        open_transactions = []
        for entry in entries:
            in_transaction = entry.current_transaction_first_offset != _NO_OFFSET
            if not in_transaction and now_ms - entry.timestamp_ms >= expiration_ms:
                continue
            state = self._producers[entry.producer_id] = ProducerState(entry.producer_id)
            self._packed[entry.producer_id] = pack_entry(entry)
            state.epoch = entry.epoch
            state.coordinator_epoch = entry.coordinator_epoch
            state.last_timestamp_ms = entry.timestamp_ms
            if entry.last_offset != _NO_OFFSET:
                self.restored.add(entry.producer_id)
                first = (entry.last_sequence - entry.offset_delta) & MAX_SEQUENCE
                state.batches.append(
                    ProducerBatch(first, entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp_ms)
                )
            if in_transaction:
                state.transaction_first_offset = entry.current_transaction_first_offset
                open_transactions.append((entry.current_transaction_first_offset, entry.producer_id))
        for first_offset, producer_id in sorted(open_transactions):
            self._begin_transaction(producer_id, first_offset)
