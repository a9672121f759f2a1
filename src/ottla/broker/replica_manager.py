"""The partitions that live on this broker: made, changed and removed as the metadata log says.

The image decides, this module follows: for each partition whose replicas name this broker there is a log and a
`Partition` around it. A change is applied in two steps: files are made or renamed in a thread, because the event loop
never waits for a disk; then the partitions change on the loop, all at once.

A directory whose disk fails takes its partitions with it: they stay known, so that clients get KAFKA_STORAGE_ERROR and
not "unknown topic", and the other directories go on.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from typing import Any, TypeVar

from ottla.broker.clock import now_ms
from ottla.metadata.image import ClusterImage, ImageDelta, PartitionState, ResourceType, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import Leadership, Partition
from ottla.storage.directory_move import DirectoryMove
from ottla.storage.errors import StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager, NoLogDirectory
from ottla.storage.partition_directories import TopicPartition

logger = logging.getLogger("ottla.broker.replicas")

T = TypeVar("T")
# A copy that is this close to the end of its log is finished under exclusion.
_SWAP_LAG_MAX = 1000
LogConfigOf = Callable[[ClusterImage, str], LogConfig]


class ReplicaManager:
    """All partitions of this broker."""

    def __init__(self, broker_id: int, logs: LogManager, log_config_of: LogConfigOf, workers: Executor) -> None:
        self.broker_id = broker_id
        self.logs = logs
        self._log_config_of = log_config_of
        self._workers = workers
        self._topics: dict[str, dict[int, Partition]] = {}
        self._names: dict[bytes, str] = {}
        self._offline: set[tuple[str, int]] = set()
        self.moves: dict[TopicPartition, DirectoryMove] = {}
        self._moving: set[TopicPartition] = set()
        # One at a time: a change that the metadata log asks for, or the swap at the end of a move.
        self._changing = asyncio.Lock()

    # -- what handlers use ------------------------------------------------------------------------------------------

    def topic_name(self, topic_id: bytes) -> str:
        """The name behind an id."""
        name = self._names.get(topic_id)
        if name is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id here")
        return name

    def partition(self, topic: str, index: int) -> Partition:
        """A partition of this broker, or the error that tells a client why there is none."""
        partitions = self._topics.get(topic)
        if partitions is not None:
            partition = partitions.get(index)
            if partition is not None:
                return partition
            if (topic, index) in self.moves:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} changes its directory just now")
            if (topic, index) in self._offline:
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The disk that holds {topic}-{index} has failed")
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} does not exist")

    def partitions(self) -> Iterator[Partition]:
        """Every partition that is online."""
        for partitions in self._topics.values():
            yield from partitions.values()

    async def flush(self, partition: Partition) -> None:
        """Returns when everything appended so far is on the disk; ApiError if the disk fails."""
        try:
            await self._in_thread(partition.log.flush, now_ms())
        except StorageError as error:
            raise self.disk_failed(error) from error

    def disk_failed(self, error: StorageError) -> ApiError:
        """Takes the failed directory offline, and gives the error for whoever was using it."""
        self.directory_failed(self.logs.fail_directory(error))
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def directory_failed(self, lost: list[TopicPartition]) -> None:
        """Puts the partitions of a failed directory out of service."""
        for topic, index in lost:
            partition = self._topics.get(topic, {}).pop(index, None)
            self._offline.add((topic, index))
            if partition is not None:
                partition.wake(0)

    def move(self, topic: str, index: int, target: LogDirectory) -> Coroutine[Any, Any, None] | None:
        """The work of moving a partition's log to another directory; None if it is there or on its way."""
        key = (topic, index)
        partition = self.partition(topic, index)
        if key in self._moving or self.logs.directory_of(topic, index) is target:
            return None
        self._moving.add(key)
        return self._move(partition, target)

    async def _move(self, partition: Partition, target: LogDirectory) -> None:
        """Copies the log while it is in use, then swaps."""
        key = (partition.topic, partition.index)
        try:
            move = self.moves[key] = await self._in_thread(self.logs.begin_move, *key, target, now_ms())
            while move.lag > _SWAP_LAG_MAX:
                await self._in_thread(move.catch_up, now_ms())
            async with self._changing:
                await self._swap(partition, move)
        except StorageError as error:
            self.disk_failed(error)
        finally:
            self.moves.pop(key, None)
            self._moving.discard(key)

    async def _swap(self, partition: Partition, move: DirectoryMove) -> None:
        """Puts the copy in the place of the log.

        For that moment the partition is not there: clients hear "not the leader" and come again.
        """
        partitions = self._topics.get(partition.topic, {})
        if partitions.get(partition.index) is not partition:
            # Deleted, or its disk failed, while it was copied.
            await self._in_thread(move.abandon)
            return
        del partitions[partition.index]
        partition.wake(0)
        try:
            log = await self._in_thread(self.logs.finish_move, move, partition.topic_id, now_ms())
        except StorageError:
            partitions[partition.index] = partition
            raise
        partitions[partition.index] = Partition(
            partition.topic, partition.index, partition.topic_id, self.broker_id, log, partition.leadership
        )

    # -- what the metadata log says ---------------------------------------------------------------------------------

    async def apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Follows a change of the image."""
        async with self._changing:
            await self._apply(delta, image)

    async def _apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        for topic_id, name in delta.deleted_topics.items():
            await self._remove_topic(topic_id, name)
        changed = (image.topics.by_id(topic_id) for topic_id in delta.changed_topics)
        for topic in changed:
            if topic is not None:
                if topic.id in delta.created_topics:
                    logger.info("Topic %s is created with %d partitions", topic.name, len(topic.partitions))
                await self._apply_topic(topic, image)
        self._apply_configs(delta, image)

    async def apply_all(self, image: ClusterImage) -> None:
        """Brings every partition of the image up, at start; logs of topics that are gone are removed."""
        for topic in image.topics:
            await self._apply_topic(topic, image)
        strays = [(name, index) for (name, index), _ in self.logs.all() if index not in self._topics.get(name, {})]
        for name, index in strays:
            logger.info("Removing the log of %s-%d, which is not in the metadata any more", name, index)
            await self._in_thread(self.logs.delete, name, index, now_ms())

    async def _apply_topic(self, topic: TopicImage, image: ClusterImage) -> None:
        partitions = self._topics.setdefault(topic.name, {})
        self._names[topic.id] = topic.name
        for index, state in topic.partitions.items():
            if self.broker_id not in state.replicas:
                continue
            known = partitions.get(index)
            if known is not None:
                if state.partition_epoch > known.leadership.partition_epoch:
                    known.apply(_leadership(state))
                continue
            log = await self._open_log(topic, index, image)
            if log is not None:
                partitions[index] = Partition(topic.name, index, topic.id, self.broker_id, log, _leadership(state))

    async def _open_log(self, topic: TopicImage, index: int, image: ClusterImage) -> Log | None:
        config = self._log_config_of(image, topic.name)
        stored_id = self.logs.topic_id_of(topic.name, index)
        if stored_id not in (None, topic.id):
            # A crash came between the deletion of a topic and that of its files; this is another topic of that name.
            await self._in_thread(self.logs.delete, topic.name, index, now_ms())
        try:
            return await self._in_thread(self.logs.get_or_create, topic.name, index, topic.id, config, now_ms())
        except StorageError as error:
            self.disk_failed(error)
        except NoLogDirectory as error:
            logger.error("%s-%d cannot be opened: %s", topic.name, index, error)
        self._offline.add((topic.name, index))
        return None

    async def _remove_topic(self, topic_id: bytes, name: str) -> None:
        logger.info("Topic %s is deleted", name)
        self._names.pop(topic_id, None)
        for index, partition in self._topics.pop(name, {}).items():
            partition.wake(0)
            try:
                await self._in_thread(self.logs.delete, name, index, now_ms())
            except StorageError as error:
                self.disk_failed(error)
        self._offline = {key for key in self._offline if key[0] != name}

    def _apply_configs(self, delta: ImageDelta, image: ClusterImage) -> None:
        if any(kind == ResourceType.BROKER for kind, _ in delta.changed_configs):
            names = list(self._topics)
        else:
            names = [
                name for kind, name in delta.changed_configs if kind == ResourceType.TOPIC and name in self._topics
            ]
        for name in names:
            config = self._log_config_of(image, name)
            for partition in self._topics[name].values():
                partition.log.update_config(config)

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, *arguments)


def _leadership(state: PartitionState) -> Leadership:
    return Leadership(state.leader, state.leader_epoch, state.replicas, state.isr, state.partition_epoch)
