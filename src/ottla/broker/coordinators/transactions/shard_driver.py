"""A shard of transactional ids at work: its decisions go into the log, and what is settled there is brought to its end.

A state that is written takes effect when it is committed, whether or not the client still waits (`ShardWrites`). A
client that waited too long hears that the coordinator is not available and asks again; meanwhile its id answers
CONCURRENT_TRANSACTIONS. A write that is lost needs no undoing: the shard is thrown away, with its leadership or to be
loaded again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.internal_topic import TRANSACTION_TOPIC
from ottla.broker.coordinators.replay import replay
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.coordinators.transactions.markers import CoordinatorReplaced, MarkerWriter
from ottla.broker.tasks import Tasks
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.records import decode_key, decode_value, encode_key, encode_value
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError
from ottla.protocol.record_batch import BatchHeader

logger = logging.getLogger(__name__)

_RETRY_PAUSE_S = 1.0


def load_shard(partition: int, pieces: Iterator[memoryview]) -> TransactionShard:
    """Replays every record of a partition."""
    shard = TransactionShard()

    def take_record(key: bytes, value: bytes | None, _header: BatchHeader) -> None:
        transactional_id = decode_key(key)
        shard.replay(transactional_id, None if value is None else decode_value(transactional_id, value))

    # Nobody writes control batches here that would mean anything.
    record_count = replay(TRANSACTION_TOPIC, partition, pieces, take_record, lambda _batch, _header: None)
    logger.debug("%s-%d: %d transactional ids from %d records", TRANSACTION_TOPIC, partition, len(shard), record_count)
    return shard


class TransactionShardDriver:
    """A loaded shard. Not used any more after `close`."""

    def __init__(
        self,
        shard: TransactionShard,
        writes: ShardWrites,
        markers: MarkerWriter,
        tasks: Tasks,
        clock: Callable[[], int],
        transaction_version: Callable[[], int],
    ) -> None:
        self.shard = shard
        self._writes = writes
        self._markers = markers
        self._tasks = tasks
        self._clock = clock
        self._transaction_version = transaction_version
        self._completions: dict[str, asyncio.Task[None]] = {}
        # What an earlier coordinator settled and did not complete.
        for metadata in shard.prepared():
            self._begin_completion(metadata)

    def close(self) -> None:
        """Whoever leads now completes what is settled."""
        for completion in self._completions.values():
            completion.cancel()

    async def write(self, states: Sequence[TransactionMetadata]) -> None:
        """Returns once states are logged; ApiError if they are not, or if that takes too long to wait for."""
        try:
            write = self._writes.append(self._encode(states), lambda _: self._logged(states))
        except Exception as error:
            for state in states:
                self.shard.refused(state)
            if isinstance(error, ApiError):
                raise coordinator_error(error) from error
            raise
        self._writes.commit_ready()
        if not write.is_committed:
            await self._writes.wait(write)

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
                await self._markers.write(metadata, self._writes.leader_epoch)
            except CoordinatorReplaced:
                logger.warning("%s is coordinated elsewhere by now", metadata.transactional_id)
                return
            except Exception:
                logger.exception("The markers of a transaction of %s are tried again", metadata.transactional_id)
                await asyncio.sleep(_RETRY_PAUSE_S)
            else:
                break
        while not self._writes.is_closed:
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

    def _logged(self, states: Sequence[TransactionMetadata]) -> None:
        for state in states:
            self.shard.logged(state)
            if state.state.is_prepared:
                self._begin_completion(state)

    def _encode(self, states: Sequence[TransactionMetadata]) -> bytearray:
        now_ms = self._clock()
        version = self._transaction_version()
        builder = BatchBuilder()
        for state in states:
            is_forgotten = state.state is TransactionState.DEAD
            value = None if is_forgotten else encode_value(state, version)
            builder.append(encode_key(state.transactional_id), value, timestamp_ms=now_ms)
        return builder.build()
