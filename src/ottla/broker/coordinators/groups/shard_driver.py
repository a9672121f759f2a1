"""Drives a shard of groups: carries out what its state machine decides.

After every call into the state machine, the driver carries out the effects: it answers parked requests through their
futures, and appends records. Records that are not committed at once take effect later, in log order (`ShardWrites`).
One timer serves all deadlines of the shard.

A write that is lost need not be undone: the shard is discarded with its leadership, or loaded again. Only the writes of
a transactional producer can be refused one by one.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.deadlines import Deadlines
from ottla.broker.coordinators.groups.record_batches import encode_batch, encode_transactional_batch
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.replay import replay
from ottla.broker.coordinators.shard_writes import ShardWrites, Write
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.effects import Outcome, Respond
from ottla.coordinator.group.records import GroupCoordinatorRecord, OffsetRecord, decode_record
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import end_txn_batch, parse_end_txn_marker
from ottla.protocol.errors import ApiError
from ottla.protocol.record_batch import NO_PRODUCER_ID, BatchHeader
from ottla.storage.transaction_verification import VerificationGuard

logger = logging.getLogger(__name__)

T = TypeVar("T")


def load_shard(config: GroupConfig, partition: int, pieces: Iterator[memoryview]) -> GroupShard:
    """Replays every record and marker of a partition.

    A transaction without a marker is still pending afterwards: its coordinator will send one.
    """
    shard = GroupShard(config)

    def take_record(key: bytes, value: bytes | None, header: BatchHeader) -> None:
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        shard.replay(decode_record(key, value), producer_id)

    def take_control(batch: memoryview, header: BatchHeader) -> None:
        marker = parse_end_txn_marker(batch, header)
        if marker is not None:
            shard.replay_marker(header.producer_id, is_commit=marker.is_commit)

    record_count = replay(OFFSETS_TOPIC, partition, pieces, take_record, take_control)
    logger.debug("%s-%d: %d groups from %d records", OFFSETS_TOPIC, partition, len(shard), record_count)
    return shard


class GroupShardDriver:
    """A loaded shard, in service until `close`."""

    def __init__(self, shard: GroupShard, writes: ShardWrites, clock: Callable[[], int], codec: Codec) -> None:
        self.shard = shard
        self._writes = writes
        self._clock = clock
        self._codec = codec
        self._is_settling = False
        self.deadlines = Deadlines(
            f"{OFFSETS_TOPIC}-{writes.partition}", clock, lambda: shard.timers.next_check_ms, self._tick
        )
        shard.loaded(clock())
        self.apply_effects()

    def apply_effects(self) -> Write | None:
        """Carries out what the state machine decided; returns the last write that is not committed yet."""
        if self._is_settling or self._writes.is_closed:
            # A call further up the stack is at it, and looks again before it ends.
            return None
        self._is_settling = True
        last: Write | None = None
        try:
            while self.shard.effects:
                for effect in self.shard.effects.take():
                    if isinstance(effect, Respond):
                        _answer(effect.token, effect.response)
                    else:
                        last = self._write(effect.records, effect.outcome) or last
        finally:
            self._is_settling = False
        self.deadlines.schedule()
        return None if last is None or last.is_committed else last

    def append(self, records: Sequence[GroupCoordinatorRecord]) -> Write | None:
        """Appends an operation's records as one batch; returns the write if it is not committed yet. Raises
        ApiError."""
        if not records:
            return None
        now_ms = self._clock()
        on_refused = self.shard.refused if all(isinstance(record, OffsetRecord) for record in records) else None
        try:
            write = self._writes.append(
                encode_batch(records, now_ms, self._codec), self._committed, on_refused=on_refused
            )
        except ApiError as error:
            raise coordinator_error(error) from error
        self.shard.appended(records, None, write.number, now_ms)
        self.deadlines.schedule()
        return self._pending(write)

    def append_in_transaction(
        self,
        records: Sequence[GroupCoordinatorRecord],
        producer_id: int,
        producer_epoch: int,
        verification: VerificationGuard | None,
    ) -> Write | None:
        """As `append`, as part of a producer's transaction."""
        if not records:
            return None
        now_ms = self._clock()
        batch = encode_transactional_batch(records, now_ms, producer_id, producer_epoch, self._codec)
        try:
            write = self._writes.append(
                batch, self._committed, on_refused=self.shard.refused, verification=verification
            )
        except ApiError as error:
            raise coordinator_error(error) from error
        self.shard.appended(records, None, write.number, now_ms, producer_id)
        return self._pending(write)

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> Write | None:
        """Ends a producer's transaction here; returns the write of the marker if it is not committed yet."""
        batch = end_txn_batch(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=self._clock(),
        )
        write = self._writes.append(
            batch, self._committed, on_refused=self.shard.refused, transaction_version=transaction_version
        )
        self.shard.marker_appended(producer_id, write.number, is_commit=is_commit)
        return self._pending(write)

    async def respond_when_committed(self, write: Write, response: T) -> T:
        """The response, once the write is committed."""
        await self._writes.wait(write)
        return response

    async def clean(self, portions: Iterable[Sequence[GroupCoordinatorRecord]]) -> None:
        """Writes tombstones that nobody waits for.

        If the log refuses a portion, the others are written all the same. Its offsets stay until the next expiry finds
        them.
        """
        refused = 0
        for records in portions:
            if self._writes.is_closed:
                return
            try:
                self.append(records)
            except ApiError as error:
                refused += len(records)
                reason = str(error)
            # There may be a million tombstones: the loop serves requests in between.
            await asyncio.sleep(0)
        if refused:
            logger.warning(
                "%s-%d refused %d tombstones of offsets or groups: %s",
                OFFSETS_TOPIC,
                self._writes.partition,
                refused,
                reason,
            )

    def close(self) -> None:
        """Answers parked requests with NOT_COORDINATOR, so that they go to the new coordinator."""
        self.deadlines.close()
        self.shard.unload()
        for effect in self.shard.effects.take():
            if isinstance(effect, Respond):
                _answer(effect.token, effect.response)

    def _write(self, records: Sequence[GroupCoordinatorRecord], outcome: Outcome) -> Write | None:
        now_ms = self._clock()
        try:
            write = self._writes.append(encode_batch(records, now_ms, self._codec), self._committed)
        except ApiError as error:
            logger.warning("%s-%d refused a group's metadata: %s", OFFSETS_TOPIC, self._writes.partition, error)
            self.shard.append_failed(outcome, coordinator_error(error).code, now_ms)
            return None
        self.shard.appended(records, outcome, write.number, now_ms)
        return self._pending(write)

    def _pending(self, write: Write) -> Write | None:
        self._writes.commit_ready()
        return None if write.is_committed else write

    def _committed(self, number: int) -> None:
        self.shard.committed(number, self._clock())
        if self.shard.effects:
            self.apply_effects()

    def _tick(self, now_ms: int) -> None:
        self.shard.tick(now_ms)
        self.apply_effects()


def _answer(token: object, response: object) -> None:
    assert isinstance(token, asyncio.Future), "this shell parks requests as futures"
    if not token.done():
        token.set_result(response)
