"""Drives a shard of transactional ids: writes its decisions to the log, and completes prepared transactions.

A state that is written takes effect when it is committed, whether or not the client still waits (`ShardWrites`). A
client that waited too long gets COORDINATOR_NOT_AVAILABLE and retries; until the state is committed, its id answers
CONCURRENT_TRANSACTIONS. A write that the log refuses, at once or later, is forgotten, and the id keeps the state that
it had. A write that is lost otherwise need not be undone: the shard is discarded with its leadership.

A prepared transaction has a task that ends only when the completion is committed or the shard is closed. Nobody else
completes the transaction: its client hears CONCURRENT_TRANSACTIONS until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.internal_topic import TRANSACTION_TOPIC
from ottla.broker.coordinators.replay import replay
from ottla.broker.coordinators.shard_writes import ShardWrites, Write
from ottla.broker.coordinators.transactions.markers import MarkerWriter, TransactionSuperseded
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

    # Control batches have no meaning in this topic.
    record_count = replay(TRANSACTION_TOPIC, partition, pieces, take_record, lambda _batch, _header: None)
    logger.debug("%s-%d: %d transactional ids from %d records", TRANSACTION_TOPIC, partition, len(shard), record_count)
    return shard


class TransactionShardDriver:
    """A loaded shard, in service until `close`."""

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
        # Transactions that an earlier coordinator prepared and did not complete.
        for metadata in shard.prepared():
            self._begin_completion(metadata)

    def close(self) -> None:
        """Stops; the new leader completes prepared transactions."""
        for completion in self._completions.values():
            completion.cancel()

    async def write(self, states: Sequence[TransactionMetadata]) -> None:
        """Returns once the states are committed; ApiError if the log refuses them, or if that takes too long."""
        write = self._append(states)
        if not write.is_committed:
            await self._writes.wait(write)

    def completion(self, transactional_id: str) -> asyncio.Task[None] | None:
        """The task that completes a prepared transaction, None if there is none."""
        return self._completions.get(transactional_id)

    def _begin_completion(self, metadata: TransactionMetadata) -> None:
        transactional_id = metadata.transactional_id
        completion = self._tasks.start_background(
            f"end of a transaction of {transactional_id}", self._complete(metadata)
        )
        self._completions[transactional_id] = completion
        completion.add_done_callback(lambda _: self._completed(transactional_id, completion))

    def _completed(self, transactional_id: str, completion: asyncio.Task[None]) -> None:
        # The next transaction of this id may already be ending.
        if self._completions.get(transactional_id) is completion:
            del self._completions[transactional_id]

    async def _complete(self, metadata: TransactionMetadata) -> None:
        """Retries until it succeeds: the outcome is decided, and nobody else will complete it."""
        while True:
            try:
                await self._markers.write(metadata, self._writes.leader_epoch)
            except TransactionSuperseded as error:
                logger.warning("No more markers for the transaction of %s: %s", metadata.transactional_id, error)
                return
            except Exception:
                logger.exception(
                    "Writing the markers of a transaction of %s failed; retrying", metadata.transactional_id
                )
                await asyncio.sleep(_RETRY_PAUSE_S)
            else:
                break
        while not self._writes.is_closed:
            try:
                # However long that takes: the disk may refuse the record long after a client would have given up.
                await self._append((self.shard.complete(metadata.transactional_id, self._clock()),)).wait()
                return
            except ApiError as error:
                if self._writes.is_closed:
                    return
                logger.warning(
                    "The completion of a transaction of %s could not be logged: %s", metadata.transactional_id, error
                )
            except Exception:
                logger.exception("Logging the end of a transaction of %s failed; retrying", metadata.transactional_id)
            await asyncio.sleep(_RETRY_PAUSE_S)

    def _append(self, states: Sequence[TransactionMetadata]) -> Write:
        try:
            write = self._writes.append(
                self._encode(states), lambda _: self._logged(states), on_refused=lambda _: self._refused(states)
            )
        except Exception as error:
            self._refused(states)
            if isinstance(error, ApiError):
                raise coordinator_error(error) from error
            raise
        self._writes.commit_ready()
        return write

    def _logged(self, states: Sequence[TransactionMetadata]) -> None:
        for state in states:
            self.shard.logged(state)
            if state.state.is_prepared:
                self._begin_completion(state)

    def _refused(self, states: Sequence[TransactionMetadata]) -> None:
        for state in states:
            self.shard.refused(state)

    def _encode(self, states: Sequence[TransactionMetadata]) -> bytearray:
        now_ms = self._clock()
        version = self._transaction_version()
        builder = BatchBuilder()
        for state in states:
            is_forgotten = state.state is TransactionState.DEAD
            value = None if is_forgotten else encode_value(state, version)
            builder.append(encode_key(state.transactional_id), value, timestamp_ms=now_ms)
        return builder.build()
