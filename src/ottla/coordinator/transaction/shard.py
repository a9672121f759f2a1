"""The transactional ids of one partition of `__transaction_state`.

Each id has a logged state and at most one pending state, which is on its way into the log. Requests are decided by the
logged state; while another is pending they are told to retry (CONCURRENT_TRANSACTIONS), so that two requests never
build on the same state. The shell writes what a decision returns and reports back: `logged` makes it take effect,
`refused` drops it. Nothing is promised to a client before `logged`.

What survives a crash is the log: `replay` brings back the logged states. The leader of the partition has to complete
those that are prepared (`prepared`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.coordinator.transaction.adding import add_partitions, unadded_partitions
from ottla.coordinator.transaction.ending import end_transaction
from ottla.coordinator.transaction.initialisation import abort_fenced, initialise
from ottla.coordinator.transaction.metadata import ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH
from ottla.protocol.topic_partition import TopicPartition


class _Entry:
    __slots__ = ("logged", "pending")

    def __init__(self, logged: TransactionMetadata) -> None:
        self.logged = logged
        self.pending: TransactionMetadata | None = None


class TransactionShard:
    """Decides about its ids. Refusals are raised as ApiError."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        # The ids with an open transaction, so that the search for overdue ones does not visit all.
        self._ongoing: set[str] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """The logged state of an id, None if it is unknown or being forgotten."""
        entry = self._entries.get(transactional_id)
        if entry is None or (entry.pending is not None and entry.pending.state is TransactionState.DEAD):
            return None
        return entry.logged

    def ids(self) -> tuple[str, ...]:
        """Every id that there is now."""
        return tuple(self._entries)

    def all(self) -> Iterator[TransactionMetadata]:
        """The logged state of every id that is not being forgotten; the caller may take its time."""
        return (metadata for name in self.ids() if (metadata := self.get(name)) is not None)

    # Requests

    def wants_producer_id(self, transactional_id: str) -> bool:
        """Whether a producer that begins, or ends a transaction, under this id needs a fresh producer id."""
        entry = self._entries.get(transactional_id)
        return entry is None or entry.logged.is_epoch_exhausted

    def init_producer_id(
        self,
        transactional_id: str,
        *,
        timeout_ms: int,
        expected: ProducerIdentity | None,
        fresh_producer_id: int | None,
        transaction_version: int,
        now_ms: int,
    ) -> TransactionMetadata:
        """The state to log: the new producer's, or the abort of the transaction that has to end first."""
        entry = self._entries.get(transactional_id)
        if entry is None:
            if fresh_producer_id is None:
                # The id was forgotten since the caller looked.
                raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, f"{transactional_id!r} needs a producer id")
            entry = _Entry(TransactionMetadata(transactional_id, fresh_producer_id, NO_PRODUCER_EPOCH, timeout_ms))
            self._entries[transactional_id] = entry
        return self._begin(
            entry,
            initialise(
                self._settled(entry),
                timeout_ms=timeout_ms,
                expected=expected,
                fresh_producer_id=fresh_producer_id,
                transaction_version=transaction_version,
                now_ms=now_ms,
            ),
        )

    def add_partitions(
        self,
        transactional_id: str,
        *,
        producer: ProducerIdentity,
        partitions: frozenset[TopicPartition],
        client_transaction_version: int,
        now_ms: int,
    ) -> TransactionMetadata | None:
        """The state to log; None if the partitions are in the transaction already."""
        entry = self._known(transactional_id)
        following = add_partitions(
            self._settled(entry),
            producer=producer,
            partitions=partitions,
            client_transaction_version=client_transaction_version,
            now_ms=now_ms,
        )
        return None if following is None else self._begin(entry, following)

    def unadded_partitions(
        self, transactional_id: str, *, producer: ProducerIdentity, partitions: frozenset[TopicPartition]
    ) -> frozenset[TopicPartition]:
        """The partitions that are not in the producer's transaction."""
        return unadded_partitions(
            self._known(transactional_id).logged,
            producer=producer,
            partitions=partitions,
        )

    def end_transaction(
        self,
        transactional_id: str,
        *,
        producer: ProducerIdentity,
        is_commit: bool,
        client_transaction_version: int,
        fresh_producer_id: int | None,
        now_ms: int,
    ) -> TransactionMetadata | None:
        """The state to log; None if the transaction has already ended that way."""
        entry = self._known(transactional_id)
        following = end_transaction(
            self._settled(entry),
            producer=producer,
            is_commit=is_commit,
            client_transaction_version=client_transaction_version,
            fresh_producer_id=fresh_producer_id,
            now_ms=now_ms,
        )
        return None if following is None else self._begin(entry, following)

    # What happens without a request

    def overdue(self, now_ms: int) -> list[str]:
        """The ids whose transaction has been open for longer than its timeout."""
        return [name for name in self._ongoing if _is_overdue(self._entries[name], now_ms)]

    def abort_overdue(
        self, transactional_id: str, *, fresh_producer_id: int | None, transaction_version: int, now_ms: int
    ) -> TransactionMetadata | None:
        """The abort to log for an overdue transaction, which fences its producer; None if it is not overdue any
        more."""
        entry = self._entries.get(transactional_id)
        if entry is None or not _is_overdue(entry, now_ms):
            return None
        return self._begin(entry, abort_fenced(entry.logged, transaction_version, fresh_producer_id, now_ms))

    def prepared(self) -> list[TransactionMetadata]:
        """The transactions whose outcome is settled and whose markers have to be written."""
        return [entry.logged for entry in self._entries.values() if entry.logged.state.is_prepared]

    def complete(self, transactional_id: str, now_ms: int) -> TransactionMetadata:
        """The state to log once all markers of a prepared transaction are written."""
        entry = self._known(transactional_id)
        return self._begin(entry, self._settled(entry).completed(now_ms))

    def expire(self, transactional_id: str, now_ms: int, expiration_ms: int) -> TransactionMetadata | None:
        """The state to log for an id that nobody has used for `expiration_ms`; None for any other id."""
        entry = self._entries.get(transactional_id)
        if (
            entry is None
            or entry.pending is not None
            or not entry.logged.state.is_at_rest
            or entry.logged.last_update_timestamp_ms + expiration_ms > now_ms
        ):
            return None
        return self._begin(entry, entry.logged.forgotten())

    # The log

    def is_pending(self, transactional_id: str) -> bool:
        """Whether a state of the id is on its way into the log."""
        entry = self._entries.get(transactional_id)
        return entry is not None and entry.pending is not None

    def logged(self, metadata: TransactionMetadata) -> None:
        """The state that a decision returned is committed, and takes effect."""
        entry = self._entries[metadata.transactional_id]
        assert entry.pending is metadata, f"{metadata.transactional_id}: another state was on its way"
        entry.pending = None
        self._put(entry, metadata)

    def refused(self, metadata: TransactionMetadata) -> None:
        """The state that a decision returned did not get into the log: drop it."""
        entry = self._entries[metadata.transactional_id]
        assert entry.pending is metadata, f"{metadata.transactional_id}: another state was on its way"
        entry.pending = None
        if entry.logged.producer_epoch == NO_PRODUCER_EPOCH:
            del self._entries[metadata.transactional_id]

    def replay(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """Apply a record of the log; None forgets the id."""
        if metadata is None:
            self._entries.pop(transactional_id, None)
            self._ongoing.discard(transactional_id)
            return
        entry = self._entries.get(transactional_id)
        if entry is None:
            entry = self._entries[transactional_id] = _Entry(metadata)
        self._put(entry, metadata)

    def _put(self, entry: _Entry, metadata: TransactionMetadata) -> None:
        transactional_id = metadata.transactional_id
        entry.logged = metadata
        if metadata.state is TransactionState.ONGOING:
            self._ongoing.add(transactional_id)
        else:
            self._ongoing.discard(transactional_id)
        if metadata.state is TransactionState.DEAD:
            del self._entries[transactional_id]

    def _known(self, transactional_id: str) -> _Entry:
        entry = self._entries.get(transactional_id)
        if entry is None:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                f"{transactional_id!r} is unknown: call InitProducerId first, and again after "
                "transactional.id.expiration.ms without a transaction",
            )
        return entry

    def _settled(self, entry: _Entry) -> TransactionMetadata:
        if entry.pending is not None:
            raise ApiError(
                ErrorCode.CONCURRENT_TRANSACTIONS,
                f"{entry.logged.transactional_id!r} is on its way to {entry.pending.state.label}",
            )
        return entry.logged

    def _begin(self, entry: _Entry, following: TransactionMetadata) -> TransactionMetadata:
        assert entry.pending is None, f"{following.transactional_id}: two decisions at once"
        entry.pending = following
        return following


def _is_overdue(entry: _Entry, now_ms: int) -> bool:
    logged = entry.logged
    return (
        entry.pending is None
        and logged.state is TransactionState.ONGOING
        and logged.start_timestamp_ms + logged.timeout_ms < now_ms
    )
