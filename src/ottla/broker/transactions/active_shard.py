"""One shard at work: its decisions go into the partition's log, and what is settled there is brought to its end.

A state that is written takes effect when it is committed, whether or not the client still waits. A client that waited
too long hears that the coordinator is not available and asks again; meanwhile its id answers CONCURRENT_TRANSACTIONS.
A write that fails because leadership is lost needs no undoing: the shard is thrown away with its leadership. Nor does
one that had to wait for its disk and was refused: then the shard is thrown away and loaded again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from ottla.broker.coordinators.log import AppendLost, CoordinatorLog, coordinator_error, wait_while_led
from ottla.broker.tasks import Tasks
from ottla.broker.transactions.markers import CoordinatorReplaced, MarkerWriter
from ottla.broker.transactions.state_topic import TRANSACTION_TOPIC
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.records import encode_key, encode_value
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)

_RETRY_PAUSE_S = 1.0


class ActiveShard:
    """A loaded shard. Not used any more after `close`."""

    def __init__(
        self,
        partition: int,
        coordinator_epoch: int,
        shard: TransactionShard,
        log: CoordinatorLog,
        markers: MarkerWriter,
        tasks: Tasks,
        clock: Callable[[], int],
        transaction_version: Callable[[], int],
        on_lost: Callable[[], None],
    ) -> None:
        """`on_lost` is called when the state here is ahead of what the log will ever have."""
        self.shard = shard
        self._partition = partition
        self._coordinator_epoch = coordinator_epoch
        self._log = log
        self._markers = markers
        self._tasks = tasks
        self._clock = clock
        self._transaction_version = transaction_version
        self._on_lost = on_lost
        self._is_closed = False
        self._completions: dict[str, asyncio.Task[None]] = {}

    def close(self) -> None:
        """Leadership is gone: whoever has it now goes on."""
        self._is_closed = True
        for completion in self._completions.values():
            completion.cancel()

    async def write(self, states: Sequence[TransactionMetadata]) -> None:
        """Return once states are logged; ApiError if they are not, or if that takes too long to wait for."""
        if self._is_closed:
            # Another shard has taken over meanwhile: what was decided here is out of date.
            for state in states:
                self.shard.refused(state)
            raise ApiError(ErrorCode.NOT_COORDINATOR, f"{TRANSACTION_TOPIC}-{self._partition} is not led here any more")
        try:
            offset = self._log.append(self._partition, self._encode(states))
        except Exception as error:
            for state in states:
                self.shard.refused(state)
            if isinstance(error, ApiError):
                raise ApiError(coordinator_error(error.code), error.message) from error
            raise
        if self._log.is_committed(self._partition, offset):
            self._logged(states)
            return
        # The client may go away; what it began is finished all the same.
        failure = await asyncio.shield(self._tasks.start(self._commit(offset, states)))
        if failure is not None:
            raise failure

    def complete_prepared(self) -> None:
        """Take up what an earlier coordinator settled and did not complete."""
        for metadata in self.shard.prepared():
            self._begin_completion(metadata)

    def completion(self, transactional_id: str) -> asyncio.Task[None] | None:
        """The end of a prepared transaction, while it is under way."""
        return self._completions.get(transactional_id)

    def _begin_completion(self, metadata: TransactionMetadata) -> None:
        transactional_id = metadata.transactional_id
        completion = self._tasks.start_background(
            f"end of a transaction of {transactional_id}", self._complete(metadata)
        )
        self._completions[transactional_id] = completion
        completion.add_done_callback(lambda _: self._completed(transactional_id, completion))

    def _completed(self, transactional_id: str, completion: asyncio.Task[None]) -> None:
        # The next transaction may be about to end already.
        if self._completions.get(transactional_id) is completion:
            del self._completions[transactional_id]

    async def _complete(self, metadata: TransactionMetadata) -> None:
        """Whatever happens, it goes on: the outcome is settled, and nobody else brings it about."""
        while True:
            try:
                await self._markers.write(metadata, self._coordinator_epoch)
            except CoordinatorReplaced:
                logger.warning("%s is coordinated elsewhere by now", metadata.transactional_id)
                return
            except Exception:
                logger.exception("The markers of a transaction of %s are tried again", metadata.transactional_id)
                await asyncio.sleep(_RETRY_PAUSE_S)
            else:
                break
        while not self._is_closed:
            try:
                await self.write((self.shard.complete(metadata.transactional_id, self._clock()),))
            except ApiError as error:
                if self.shard.is_pending(metadata.transactional_id):
                    # It is in the log and will be committed, or lost together with this shard.
                    return
                logger.warning("The end of a transaction of %s is not logged: %s", metadata.transactional_id, error)
                await asyncio.sleep(_RETRY_PAUSE_S)
            else:
                return

    async def _commit(self, offset: int, states: Sequence[TransactionMetadata]) -> ApiError | None:
        """Wait for a commit, and for longer if the client's patience is over; why it did not come about."""
        try:
            await self._log.wait_committed(self._partition, offset)
        except ApiError as error:
            if error.code is ErrorCode.REQUEST_TIMED_OUT:
                self._tasks.start_background(f"commit of offset {offset}", self._keep_waiting(offset, states))
            self._note_lost(error)
            return ApiError(coordinator_error(error.code), error.message)
        self._logged(states)
        return None

    async def _keep_waiting(self, offset: int, states: Sequence[TransactionMetadata]) -> None:
        try:
            await wait_while_led(self._log, self._partition, offset, lambda: self._is_closed)
        except ApiError as error:
            logger.info("%s-%d: offset %d was not committed: %s", TRANSACTION_TOPIC, self._partition, offset, error)
            self._note_lost(error)
        else:
            self._logged(states)

    def _logged(self, states: Sequence[TransactionMetadata]) -> None:
        if self._is_closed:
            return
        for state in states:
            self.shard.logged(state)
            if state.state.is_prepared:
                self._begin_completion(state)

    def _note_lost(self, error: ApiError) -> None:
        if isinstance(error, AppendLost) and not self._is_closed:
            self._on_lost()

    def _encode(self, states: Sequence[TransactionMetadata]) -> bytearray:
        now_ms = self._clock()
        version = self._transaction_version()
        builder = BatchBuilder()
        for state in states:
            is_forgotten = state.state is TransactionState.DEAD
            value = None if is_forgotten else encode_value(state, version)
            builder.append(encode_key(state.transactional_id), value, timestamp_ms=now_ms)
        return builder.build()
