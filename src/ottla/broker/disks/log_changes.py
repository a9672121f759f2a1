"""Makes and removes the logs of partitions, each in the thread of its directory.

Changes of metadata are applied one after the other, so none of them may wait for a disk that hangs. With several
directories, a log that is not made or removed after a moment is left to its thread, and stays busy until that is done:
it is not there for anybody, and no other log of its name is made meanwhile. A directory that keeps others waiting gets
no new logs as long as there is another one.

What survives a crash is what the disk holds: a log half made is empty, one not yet removed is found to be of a topic
that the metadata does not know.
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
    """The changes of a broker's logs that are under way."""

    def __init__(self, logs: LogManager, threads: Mapping[LogDirectory, DirectoryThreads], host: Host) -> None:
        self._now_ms = host.now_ms
        self._logs = logs
        self._threads = threads
        self._busy: dict[TopicPartition, tuple[LogDirectory, asyncio.Future[Any]]] = {}
        # A node whose only directory hangs cannot do anything else anyway.
        self._patience_s = CHANGE_PATIENCE_S if len(threads) > 1 else None

    async def make(
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
        """The logs of some partitions, opened or made; without those that are offline or not made in time.

        Those `new` are made where there is room, those `placed` in their directory, others only if no directory is away
        in which they may be. There is time enough if it `waits_for_all`, as a start does.
        """
        placed = placed or {}
        free = [index for index in indexes if (topic, index) not in self._busy]
        # A crash came between the deletion of a topic and that of its files, and this is another of that name; or
        # partition.metadata is damaged. Nobody can tell, so nothing is thrown away.
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
        """Takes the logs of a topic away, those that are still being made among them."""
        being_made = {partition for partition in self._busy if partition.topic == topic}
        await self.remove({TopicPartition(topic, index) for index in indexes} | being_made)

    async def remove(self, keys: Collection[TopicPartition]) -> None:
        """Takes logs away for good, if they are there or still being made."""
        await self._take(keys, lambda key: self._logs.delete(*key, self._now_ms()))

    async def set_stray(self, keys: Collection[TopicPartition]) -> None:
        """Takes logs away that the metadata does not know, and keeps their files."""
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
        job = self._threads[directory].changing(work, *arguments)
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
        """Those that are done in time."""
        if not jobs:
            return ()
        await asyncio.wait(jobs, timeout=patience_s)
        return [job for job in jobs if job.done()]
