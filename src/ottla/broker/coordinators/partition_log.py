"""A coordinator's log: its internal topic as this broker's partitions hold it.

All that is asked of a shard's partition is asked in the leader epoch in which the shard was loaded. If that is over,
the answer is NOT_LEADER_OR_FOLLOWER, even if this broker leads again by now. A log that moves to another directory
stays the same partition, in the same epoch: whoever waits for it waits for the move as well.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Protocol

from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.purgatory import wait_until_committed
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import ACKS_ALL, AppendOutcome, Partition
from ottla.storage.errors import StorageError
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard

logger = logging.getLogger(__name__)

# How long a wait lasts before it checks again whether there is still something to wait for.
_PATIENCE_S = 10.0


class CoordinatorLog(Protocol):
    """The partitions of a coordinator's topic that this node leads."""

    def append(
        self,
        partition: int,
        batch: bytes | bytearray,
        *,
        leader_epoch: int,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendOutcome:
        """Appends one batch with acks=all in mind; ApiError if that is refused.

        A marker that is repeated is not appended again; it has the offset of what was appended last.
        """

    async def is_still_led(self, partition: int, leader_epoch: int) -> bool:
        """Whether this node leads the partition in that epoch, and can serve it once it stands still."""

    def is_committed(self, partition: int, appended: AppendInfo) -> bool:
        """Whether an append is committed: then nobody has to wait."""

    async def wait_committed(self, partition: int, appended: AppendInfo) -> None:
        """Returns once it is; ApiError when that will not be known here. REQUEST_TIMED_OUT: ask again."""

    async def wait_settled(self, partition: int, leader_epoch: int) -> None:
        """Returns once no append is on its way to the log."""

    async def wait_all_committed(self, partition: int, leader_epoch: int) -> None:
        """Returns once everything is committed that the log holds now; ApiError if a full disk keeps it from that."""

    def is_surely_empty(self, partition: int) -> bool:
        """Whether there is nothing to load, and nothing on its way to the log."""

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        """The whole log from its start, in pieces of whole batches; called in a thread."""


class PartitionCoordinatorLog:
    """Implements `CoordinatorLog` over the partitions of one internal topic."""

    def __init__(self, replicas: ReplicaManager, topic: str, load_buffer_bytes: int) -> None:
        """`load_buffer_bytes` are read at once when a partition is loaded, or one batch if that is larger."""
        self._replicas = replicas
        self._topic = topic
        self._load_buffer_bytes = load_buffer_bytes
        self._loop = asyncio.get_running_loop()

    def append(
        self,
        partition: int,
        batch: bytes | bytearray,
        *,
        leader_epoch: int,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendOutcome:
        """Appends as the leader of that epoch."""
        return self._led(partition, leader_epoch).append(
            batch,
            acks=ACKS_ALL,
            now_ms=self._replicas.host.now_ms(),
            verification=verification,
            transaction_version=transaction_version,
        )

    async def is_still_led(self, partition: int, leader_epoch: int) -> bool:
        """Whether the partition is in service here, in that epoch; at the end of a move, whether it is after that."""
        try:
            return (await self._after_move(partition, leader_epoch)).is_leader
        except ApiError:
            return False

    def is_committed(self, partition: int, appended: AppendInfo) -> bool:
        """Whether every in-sync replica has the records."""
        led = self._replicas.find(self._topic, partition)
        if led is None:
            return False
        try:
            return led.is_committed(appended.leader_epoch, appended.last_offset)
        except ApiError:
            # Whoever waits for it hears that.
            return False

    async def wait_committed(self, partition: int, appended: AppendInfo) -> None:
        """Returns once every in-sync replica has the records."""
        # On a full disk as well: the shard counts on what the log has.
        await self._wait_for(partition, appended.leader_epoch, appended.last_offset, waits_for_space=True)

    async def wait_all_committed(self, partition: int, leader_epoch: int) -> None:
        """Returns once every in-sync replica has what the log holds now."""
        last_offset = self._led(partition, leader_epoch).log.log_end_offset - 1
        was_told = False
        while True:
            try:
                return await self._wait_for(partition, leader_epoch, last_offset, waits_for_space=False)
            except ApiError as error:
                if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                    raise
                if not was_told:
                    was_told = True
                    logger.warning(
                        "%s-%d is read, and still not served: its records up to offset %d are not on enough replicas. "
                        "Its clients wait",
                        self._topic,
                        partition,
                        last_offset,
                    )

    async def wait_settled(self, partition: int, leader_epoch: int) -> None:
        """Returns once no append is on its way."""
        while True:
            # Anew each time: one that found no place in the queue is dropped when it is given up.
            barrier = (await self._after_move(partition, leader_epoch)).barrier()
            if barrier is None:
                return None
            try:
                return await barrier.result(self._loop.time() + _PATIENCE_S)
            except ApiError as error:
                if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                    raise

    def is_surely_empty(self, partition: int) -> bool:
        """Whether the log is empty, and no append of an earlier epoch can be waiting for its disk."""
        led = self._replicas.partition(self._topic, partition)
        return not led.has_queue and led.log.log_start_offset == led.log.log_end_offset

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        """Everything from the start of the log; called in a thread."""
        log = self._replicas.partition(self._topic, partition).log
        offset = log.log_start_offset
        end_offset = log.log_end_offset
        while offset < end_offset:
            try:
                read = log.read(
                    offset,
                    self._load_buffer_bytes,
                    max_offset_exclusive=end_offset,
                    min_one_batch=True,
                    allow_blocking=True,
                )
            except StorageError as error:
                self._loop.call_soon_threadsafe(self._replicas.disk_failed, error)
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            if read.records:
                yield memoryview(read.records)
            assert read.next_offset > offset, f"{self._topic}-{partition}: no progress at offset {offset}"
            offset = read.next_offset

    def _led(self, partition: int, leader_epoch: int) -> Partition:
        led = self._replicas.partition(self._topic, partition)
        if led.leader_epoch != leader_epoch:
            raise led.not_leader()
        return led

    async def _after_move(self, partition: int, leader_epoch: int) -> Partition:
        if self._replicas.is_suspended(self._topic, partition):
            await self._replicas.wait_for_changes()
        return self._led(partition, leader_epoch)

    async def _wait_for(self, partition: int, leader_epoch: int, last_offset: int, *, waits_for_space: bool) -> None:
        deadline = self._loop.time() + _PATIENCE_S
        while True:
            led = await self._after_move(partition, leader_epoch)
            try:
                if await wait_until_committed(
                    led, leader_epoch, last_offset, deadline, waits_for_space=waits_for_space
                ):
                    return
            except ApiError:
                if not self._replicas.is_suspended(self._topic, partition):
                    raise
            else:
                message = f"{self._topic}-{partition} was not replicated in time"
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message)
