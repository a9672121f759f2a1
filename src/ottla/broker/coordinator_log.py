"""The group coordinator's log: `__consumer_offsets` as this broker's partitions hold it."""

import asyncio
from collections.abc import Iterator

from ottla.broker.clock import now_ms
from ottla.broker.purgatory import wait_until_committed
from ottla.broker.replica_manager import ReplicaManager
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.errors import StorageError

_READ_BYTES = 4 * 1024 * 1024


class PartitionCoordinatorLog:
    """Implements `CoordinatorLog` over the partitions of one internal topic."""

    def __init__(self, replicas: ReplicaManager, topic: str, commit_timeout_ms: int) -> None:
        self._replicas = replicas
        self._topic = topic
        self._commit_timeout_ms = commit_timeout_ms
        self._loop = asyncio.get_running_loop()

    def append(self, partition: int, batch: bytes | bytearray) -> int:
        """Appends as the leader; returns the last offset."""
        try:
            return self._replicas.partition(self._topic, partition).append_own(batch, now_ms()).last_offset
        except StorageError as error:
            raise self._replicas.disk_failed(error) from error

    def is_committed(self, partition: int, offset: int) -> bool:
        """Whether every in-sync replica has the record, and the disk if flush.messages asks for it."""
        led = self._replicas.partition(self._topic, partition)
        return led.is_committed(offset) and not led.log.must_flush_now

    async def wait_committed(self, partition: int, offset: int) -> None:
        """Returns once every in-sync replica has the record."""
        deadline = asyncio.get_running_loop().time() + self._commit_timeout_ms / 1000
        led = self._replicas.partition(self._topic, partition)
        if led.log.must_flush_now:
            await self._replicas.flush(led, deadline)
        if not await wait_until_committed(led, offset, deadline):
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"{self._topic}-{partition} was not replicated in time")

    def is_empty(self, partition: int) -> bool:
        """Whether there is nothing to load."""
        log = self._replicas.partition(self._topic, partition).log
        return log.log_start_offset == log.log_end_offset

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        """Everything from the start of the log; called in a thread."""
        log = self._replicas.partition(self._topic, partition).log
        offset = log.log_start_offset
        end_offset = log.log_end_offset
        while offset < end_offset:
            try:
                read = log.read(
                    offset, _READ_BYTES, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True
                )
            except StorageError as error:
                self._loop.call_soon_threadsafe(self._replicas.disk_failed, error)
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            if read.records:
                yield memoryview(read.records)
            assert read.next_offset > offset, f"{self._topic}-{partition}: no progress at offset {offset}"
            offset = read.next_offset
