"""Creates and removes the logs of partitions, each in the thread of its directory.

Changes of metadata are applied one after the other, so none of them may wait for a disk that hangs. With several
directories, a log that is not created or removed after a moment is left to its thread, and counts as busy until that is
done: nobody can use it, and no other log of its name is created meanwhile. A slow directory gets no new logs as long as
there is another one.

After a crash, the disk decides: a log that was being created is empty, and one that was to be removed belongs to a
topic that the metadata does not know.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.host import Host
from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

CHANGE_PATIENCE_S = 3.0


class LogChanges:
    """Creates and removes a broker's logs; knows which changes are in progress."""

    def __init__(self, logs: LogManager, threads: Mapping[LogDirectory, DirectoryThreads], host: Host) -> None:
        self._now_ms = host.now_ms
        self._logs = logs
        self._threads = threads
        self._busy: dict[TopicPartition, tuple[LogDirectory, asyncio.Future[Any]]] = {}
        # A node whose only directory hangs can do nothing else anyway.
        self._patience_s = CHANGE_PATIENCE_S if len(threads) > 1 else None

    async def open_or_create(
        self,
        topic: str,
        topic_id: bytes,
        indexes: Collection[int],
        new: Collection[int],
        config: LogConfig,
        *,
        placed: Mapping[int, LogDirectory] | None = None,
        waits_for_all: bool,
    ) -> dict[int, Log]:
        """Opens or creates the logs of some partitions; leaves out those that are offline or not created in time.

        Those `new` are created where there is room, those `placed` in their directory, others only if no directory is
        absent that may hold them. With `waits_for_all`, as at start, there is no time limit.
        """
        placed = placed or {}
        free = [index for index in indexes if (topic, index) not in self._busy]
        # Either a crash came between the deletion of a topic and that of its files, and this is a new topic of that
        # name; or partition.metadata is damaged. Nobody can tell which, so nothing is thrown away.
        await self.set_stray(
            [TopicPartition(topic, i) for i in free if self._logs.topic_id_of(topic, i) not in (None, topic_id)]
        )
        free = [index for index in free if (topic, index) not in self._busy]
        found = {index: log for index in free if (log := self._logs.get(topic, index)) is not None}
        missing = [index for index in free if index not in found]
        slow = [directory for directory, threads in self._threads.items() if threads.is_slow]
        places: dict[LogDirectory, list[int]] = {}
        for is_new in (True, False):
            wanted = [index for index in missing if index not in placed and (index in new) is is_new]
            for directory, chosen in self._logs.place(topic, wanted, is_new=is_new, avoided=slow).items():
                places.setdefault(directory, []).extend(chosen)
        for index in missing:
            if index in placed:
                places.setdefault(placed[index], []).append(index)
        jobs: list[asyncio.Future[dict[int, Log]]] = []
        for directory, chosen in places.items():
            keys = [TopicPartition(topic, index) for index in chosen]
            create = self._logs.create_all
            jobs.append(
                self._begin(directory, keys, create, directory, topic, chosen, topic_id, config, self._now_ms())
            )
        for job in await self._wait(jobs, None if waits_for_all else self._patience_s):
            found |= job.result()
        return found

    async def remove_topic(self, topic: str, indexes: Collection[int]) -> None:
        """Removes the logs of a topic, even those that are still being created."""
        being_made = {partition for partition in self._busy if partition.topic == topic}
        await self.remove({TopicPartition(topic, index) for index in indexes} | being_made)

    async def remove(self, keys: Collection[TopicPartition]) -> None:
        """Deletes logs that exist or are still being created."""
        await self._take(keys, lambda key: self._logs.delete(*key, self._now_ms()))

    async def set_stray(self, keys: Collection[TopicPartition]) -> None:
        """Takes logs out of service that the metadata does not know, and keeps their files."""
        await self._take(keys, lambda key: self._logs.set_stray(*key))

    async def _take(self, keys: Collection[TopicPartition], take: Callable[[TopicPartition], object]) -> None:
        places: dict[LogDirectory, list[TopicPartition]] = {}
        for key in sorted(keys):
            busy = self._busy.get(key)
            directory = self._logs.directory_of(*key) if busy is None else busy[0]
            if directory is not None:
                places.setdefault(directory, []).append(key)

        def take_all(chosen: list[TopicPartition]) -> None:
            for key in chosen:
                take(key)

        jobs = [self._begin(directory, chosen, take_all, chosen) for directory, chosen in places.items()]
        for job in await self._wait(jobs, self._patience_s):
            job.result()

    def _begin(
        self, directory: LogDirectory, keys: Collection[TopicPartition], work: Callable[..., Any], *arguments: object
    ) -> "asyncio.Future[Any]":
        job = self._threads[directory].run_change(work, *arguments)
        for key in keys:
            self._busy[key] = directory, job

        def is_done(job: "asyncio.Future[Any]") -> None:
            for key in keys:
                if key in self._busy and self._busy[key][1] is job:
                    del self._busy[key]

        job.add_done_callback(is_done)
        return job

    async def _wait(
        self, jobs: Collection["asyncio.Future[Any]"], patience_s: float | None
    ) -> Collection["asyncio.Future[Any]"]:
        """The jobs that are done in time."""
        if not jobs:
            return ()
        await asyncio.wait(jobs, timeout=patience_s)
        return [job for job in jobs if job.done()]
