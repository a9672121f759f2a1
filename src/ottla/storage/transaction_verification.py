"""Whether a batch that would begin a transaction in a partition is known to its coordinator (KIP-890, part 1).

A write that comes after its transaction ended would begin a transaction in the partition that nobody ends: readers of
committed records would wait for ever. So the coordinator is asked before the first write. `begin` returns a guard, the
writer asks, and brings the guard along with the write. It counts only if it is still the one kept here. A marker, the
first write or old age removes it: then the answer was about a transaction that is over. Writers of one producer share a
guard, whatever their epochs. The coordinator refuses a writer of an older epoch, and one that claims a newer; neither
may void the guard of the rightful writer.

Where every transaction has an epoch of its own (transaction.version 2), a marker carries the epoch of the transaction
after the one that it ends. So a marker of the guard's own epoch belongs to the transaction before, which a coordinator
on another broker may still be ending while the writer asks; it voids nothing. A marker of the guarded transaction has a
higher epoch, which voids the guard, and fences the writer besides.

A guard knows the lowest sequence that any writer of its epoch has brought since. A batch of a higher sequence must not
be the first: it overtook the batch before it, which was answered later, or with an error that is retried.

Nothing here is stored: after a restart or a change of leader the question is asked again. A log that moves to another
directory takes its guards along. Guards are created on the event loop and removed by appends, in any thread; each step
is a single operation on a dictionary.
"""

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import BatchHeader

# Guards that no write followed stay for producer.id.expiration.ms, and a client can ask for many.
GUARDS_MAX = 10_000


class VerificationGuard:
    """Stands for one question to a coordinator; compared by identity."""

    __slots__ = ("epoch", "lowest_sequence", "seen_ms", "supports_epoch_bump")

    def __init__(self, epoch: int, sequence: int, *, supports_epoch_bump: bool) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        # Whether every transaction of the producer has an epoch of its own (transaction.version 2).
        self.supports_epoch_bump = supports_epoch_bump
        # When `expire` saw it first.
        self.seen_ms: int | None = None


class TransactionVerification:
    """The guards of one partition, by producer id."""

    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[int, VerificationGuard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def begin(self, producer_id: int, epoch: int, sequence: int, *, supports_epoch_bump: bool) -> VerificationGuard:
        """Begin a verification; the batch must bring this guard once its coordinator has agreed."""
        guard = self._guards.get(producer_id)
        if guard is None:
            guard = VerificationGuard(epoch, sequence, supports_epoch_bump=supports_epoch_bump)
            self._guards[producer_id] = guard
            if len(self._guards) > GUARDS_MAX:
                self._guards.pop(next(iter(self._guards)), None)
        elif guard.epoch < epoch:
            guard.epoch, guard.lowest_sequence = epoch, sequence
        elif guard.epoch == epoch:
            guard.lowest_sequence = min(guard.lowest_sequence, sequence)
        return guard

    def is_current(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether nothing ended the transaction since the guard was given."""
        return guard is not None and self._guards.get(producer_id) is guard

    def check_sequence(self, header: BatchHeader, *, has_batches: bool, topic_partition: str) -> None:
        """Refuse a batch that cannot be the first of its transaction here; the client sends it again."""
        producer_id, sequence = header.producer_id, header.base_sequence
        guard = self._guards.get(producer_id)
        if guard is None:
            return
        if guard.supports_epoch_bump and not has_batches and sequence != 0:
            expected = 0
        elif guard.epoch == header.producer_epoch and sequence > guard.lowest_sequence:
            expected = guard.lowest_sequence
        else:
            return
        raise ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Producer {producer_id} sent sequence {sequence} to partition {topic_partition}, where its transaction "
            f"must begin with {expected}.",
        )

    def drop(self, producer_id: int) -> None:
        """Drop the guard of a transaction that has begun."""
        self._guards.pop(producer_id, None)

    def ended(self, producer_id: int, marker_epoch: int) -> None:
        """Drop the guard of a producer whose transaction was ended, unless that was the transaction before."""
        guard = self._guards.get(producer_id)
        if guard is not None and not (guard.supports_epoch_bump and marker_epoch <= guard.epoch):
            self.drop(producer_id)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Drop the guards that were not used for too long."""
        for producer_id, guard in list(self._guards.items()):
            if guard.seen_ms is None:
                guard.seen_ms = now_ms
            elif now_ms - guard.seen_ms >= expiration_ms and self._guards.get(producer_id) is guard:
                self._guards.pop(producer_id, None)

    def clear(self) -> None:
        """Drop all guards."""
        self._guards.clear()
