"""Moves the logs of partitions between the directories of this broker (KIP-113).

A log is copied while it is in use (`storage/directory_move.py`). When the copy has nearly caught up, the partition is
out of service for a moment: what waits for the disk is appended, the rest is copied, and the copy takes the log's
place. The partition stays the same, and so does what it knows.

Guarantees
- A move that fails leaves the log where it is, and in service: a disk is full or broken, or hangs for longer than
  _SWAP_PATIENCE_S at the end.
- Copies are made one after the other, in a thread of their own, so that a long copy blocks no other work on the disks.

What survives a crash is told in `directory_move`; whoever asked for a move that did not end asks again.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from ottla.broker.replica_manager import ReplicaManager
from ottla.protocol.errors import ApiError
from ottla.protocol.topic_partition import TopicPartition
from ottla.replication.partition import Partition
from ottla.storage.directory_move import DirectoryMove
from ottla.storage.errors import StorageError
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory

logger = logging.getLogger("ottla.broker.moves")

T = TypeVar("T")
# Once a copy is this close to the end of its log, appends are stopped and the copy is finished.
_SWAP_LAG_BYTES_MAX = 1024 * 1024
# How long the swap at the end of a move waits for appends in progress.
_SWAP_PATIENCE_S = 3.0


class DirectoryMoves:
    """The moves of a broker's logs between its directories."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._logs = replicas.logs
        self._host = replicas.host
        # Those whose copies have begun, and all that were asked for.
        self.under_way: dict[TopicPartition, DirectoryMove] = {}
        self._asked_for: set[TopicPartition] = set()
        self._copier = self._host.thread_pool(1, "log-copier")

    def move(self, topic: str, index: int, target: LogDirectory) -> Coroutine[Any, Any, None] | None:
        """The coroutine that moves a partition's log to another directory; None if the log is there or moving."""
        key = TopicPartition(topic, index)
        partition = self._replicas.partition(topic, index)
        if key in self._asked_for or self._logs.directory_of(topic, index) is target:
            return None
        self._asked_for.add(key)
        return self._move(partition, target)

    def stop(self) -> None:
        """Waits for the copier, which starts nothing new once the tasks have ended. Blocks, so call it in a thread."""
        self._copier.shutdown()

    async def _move(self, partition: Partition, target: LogDirectory) -> None:
        """Copies the log while it is in use, then swaps log and copy."""
        key = TopicPartition(partition.topic, partition.index)
        move: DirectoryMove | None = None
        is_done = False
        try:
            move = self.under_way[key] = await self._copy(self._logs.begin_move, *key, target, self._host.now_ms())
            while move.lag_bytes > _SWAP_LAG_BYTES_MAX:
                await self._copy(move.catch_up, self._host.now_ms())
            is_done = await self._replicas.replace_log(partition, partial(self._finish, partition, move))
        except StorageError as error:
            self._replicas.disk_failed(error)
        except ApiError as error:
            logger.warning("%s-%d was not moved to another directory: %s", *key, error)
        finally:
            if move is not None and not is_done:
                await self._copy(move.abandon)
            self.under_way.pop(key, None)
            self._asked_for.discard(key)

    async def _finish(self, partition: Partition, move: DirectoryMove) -> Log:
        """The log in its new place, while the partition is out of service."""
        writer = self._replicas.threads[move.source].writer
        assert writer is not None, "only a broker with several directories moves logs"
        await writer.drain(asyncio.get_running_loop().time() + _SWAP_PATIENCE_S)
        return await self._copy(self._logs.finish_move, move, partition.topic_id, self._host.now_ms())

    async def _copy(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._copier, work, *arguments)
