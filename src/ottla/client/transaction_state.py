"""A transaction as its producer sees it: which calls are in order now, and what an error means for it. Pure.

    UNINITIALIZED --init--> READY --begin--> OPEN --commit--> COMMITTING --end--> READY
                                              |                   |
                                              +------ error ------+---> FAILED
                                              |                           |
                                              +----------- abort ---------+---> ABORTING --end--> READY
    any of them --error that no abort cures--> DEAD

- Records and offsets are taken only in OPEN. A call in the wrong order is refused with the name of the right one, and
  changes nothing.
- A commit or an abort whose answer did not come in time stays in COMMITTING or ABORTING. Only the same call may follow,
  and continues it, because the coordinator may have done it. While one such call is under way, a second one from
  another thread or task is out of order: nobody could say which transaction it was meant for.
- A transaction that the coordinator has aborted on its own, because it was open for too long, is FAILED like any other.
- A transaction that the coordinator does not know is not ended there: without partitions and offsets it costs nothing.
- Under the older protocol sequences go on from one transaction to the next within an epoch. After a failure nobody
  knows how far they got, so the next transaction needs a new epoch (KIP-360). Under the newer one (KIP-890) the end of
  each transaction gives one.
"""

import contextlib
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

from ottla.client.errors import AbortableError, ClientError, FatalProducerError, KafkaError, WrongOrder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


class Phase(Enum):
    """Where a transaction is."""

    UNINITIALIZED = auto()
    READY = auto()
    OPEN = auto()
    COMMITTING = auto()
    ABORTING = auto()
    FAILED = auto()
    DEAD = auto()


# In answer to any request: another producer has taken over, or this one is not allowed to continue.
_FATAL: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
# Refusals of a coordinator that concern this one transaction; all others are fatal.
_COORDINATOR_ABORTABLE: Final = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    }
)
# The coordinator knows nothing of the producer: there is no transaction that it could end.
_UNKNOWN_TO_COORDINATOR: Final = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_ID_MAPPING})

_NEXT_CALL: Final = {
    Phase.UNINITIALIZED: "call init_transactions first",
    Phase.READY: "no transaction is open: call begin_transaction first",
    Phase.OPEN: "a transaction is open: call commit_transaction or abort_transaction first",
    Phase.COMMITTING: "the commit has not been answered yet: call commit_transaction again",
    Phase.ABORTING: "the abort has not been answered yet: call abort_transaction again",
}


class TransactionState:
    """See the module."""

    def __init__(self) -> None:
        self.phase = Phase.UNINITIALIZED
        self.error: AbortableError | FatalProducerError | None = None
        self.partitions: set[TopicPartition] = set()
        self.groups: set[str] = set()
        self.is_started = False
        self.is_unsure = False
        self.is_broken = False
        self.number = 0
        self._end_under_way: str | None = None

    @property
    def is_forgotten(self) -> bool:
        """Whether the coordinator has said that it does not know the producer."""
        return self.error is not None and self.error.code in _UNKNOWN_TO_COORDINATOR

    @property
    def is_epoch_refused(self) -> bool:
        """Whether a partition has refused the epoch: it does not know if the producer was fenced or is only late."""
        refused = ErrorCode.INVALID_PRODUCER_EPOCH
        return self.phase is Phase.FAILED and self.error is not None and self.error.code is refused

    @property
    def is_over(self) -> bool:
        """Whether a record that was not written need not be tried again."""
        return self.phase not in (Phase.OPEN, Phase.COMMITTING)

    # Calls.

    def check_uninitialized(self) -> None:
        self._check("init_transactions", Phase.UNINITIALIZED)

    def check_alive(self) -> None:
        """Raise if the producer is unusable."""
        if self.phase is Phase.DEAD:
            self._check("anything")

    def check_open(self, call: str) -> None:
        """Raise unless a transaction is open that can still be committed."""
        if self.phase is not Phase.OPEN:
            self._check(call, Phase.OPEN)

    def check_unfinished(self, call: str) -> None:
        """Raise unless the transaction is open or being committed: both accept what is still under way."""
        self._check(call, Phase.OPEN, Phase.COMMITTING)

    def initialized(self) -> None:
        self.phase = Phase.READY

    def begin(self) -> None:
        self._check("begin_transaction", Phase.READY)
        self.phase = Phase.OPEN
        self.number += 1

    @contextlib.contextmanager
    def ending(self, call: str) -> Iterator[None]:
        """Guard a call that commits or aborts: one at a time."""
        if self._end_under_way is not None:
            raise WrongOrder(
                f"{call} is not possible now: {self._end_under_way} was called already: wait until it returns"
            )
        self._end_under_way = call
        try:
            yield
        finally:
            self._end_under_way = None

    def start_commit(self) -> None:
        """Stop accepting records."""
        self._check("commit_transaction", Phase.OPEN, Phase.COMMITTING)
        self.phase = Phase.COMMITTING

    def start_abort(self) -> None:
        self._check("abort_transaction", Phase.OPEN, Phase.ABORTING, Phase.FAILED)
        self.phase = Phase.ABORTING

    def ended(self) -> None:
        """The coordinator has committed or aborted it, or there was nothing to do."""
        assert self.phase in (Phase.COMMITTING, Phase.ABORTING), self.phase
        self.phase = Phase.READY
        self.error = None
        self.partitions.clear()
        self.groups.clear()
        self.is_started = self.is_unsure = self.is_broken = False

    # What the coordinator knows of it.

    def started(self) -> None:
        """There is something to end."""
        self.is_started = True

    def perhaps_started(self) -> None:
        """There may be something to end: the request that would have begun it was not answered."""
        self.is_unsure = not self.is_started

    # Errors.

    def refused_by_coordinator(self, error: ClientError) -> ClientError:
        """Note that a request to a coordinator failed; returns the caller's error. A retriable one changes nothing."""
        if error.is_retriable:
            return error
        if isinstance(error, KafkaError):
            if error.code is ErrorCode.INVALID_PRODUCER_EPOCH:
                # Older coordinators say so of a producer that was fenced.
                error = KafkaError(ErrorCode.PRODUCER_FENCED)
            if error.code in _COORDINATOR_ABORTABLE and self.phase in (Phase.OPEN, Phase.COMMITTING, Phase.FAILED):
                return self._fail(error)
        return self._die(error)

    def aborted_by_coordinator(self, error: KafkaError) -> ClientError:
        """It has ended without its producer, which may begin another one as after any abort."""
        return self._fail(error)

    def taken_over(self, error: KafkaError) -> ClientError:
        """Another producer has the transactional id now."""
        return self._die(error)

    def record_failed(self, error: ClientError) -> ClientError:
        """Something that belongs to the transaction was not written: it can only be aborted now."""
        if isinstance(error, KafkaError) and error.code in _FATAL:
            return self._die(error)
        return self._fail(error)

    def _fail(self, error: ClientError) -> ClientError:
        self.is_broken = True
        if self.phase in (Phase.OPEN, Phase.COMMITTING):
            self.phase = Phase.FAILED
            text = f"the transaction cannot be committed, call abort_transaction: {_reason(error)}"
            self.error = AbortableError(_code(error), text)
        return self.error or error

    def _die(self, error: ClientError) -> ClientError:
        if self.phase is not Phase.DEAD:
            self.phase = Phase.DEAD
            text = f"the producer cannot go on, close it and make a new one: {_reason(error)}"
            self.error = FatalProducerError(_code(error), text)
        assert self.error is not None
        return self.error

    def _check(self, call: str, *allowed: Phase) -> None:
        if self.phase in allowed:
            return
        # While an abort is under way its cause does not matter: the abort must be completed.
        if self.error is not None and self.phase is not Phase.ABORTING:
            # A new one each time: the traceback of the first is not this caller's.
            raise type(self.error)(self.error.code, self.error.message)
        if self.phase is Phase.READY and allowed == (Phase.UNINITIALIZED,):
            raise WrongOrder("init_transactions was called already: call begin_transaction")
        raise WrongOrder(f"{call} is not possible now: {_NEXT_CALL[self.phase]}")


def _code(error: ClientError) -> ErrorCode:
    if isinstance(error, KafkaError):
        return error.code
    return ErrorCode.REQUEST_TIMED_OUT if error.is_retriable else ErrorCode.UNKNOWN_SERVER_ERROR


def _reason(error: ClientError) -> str:
    return error.message if isinstance(error, KafkaError) else str(error)
