"""The partitions that live on this broker: made, changed and removed as the metadata log says.

The image decides, this module follows: for each partition whose replicas name this broker there is a log and a
`Partition` around it. A change is applied in two steps: files are made or renamed in a thread, because the event loop
never waits for a disk; then the partitions change on the loop, all at once.

A directory whose disk fails takes its partitions with it: they stay known, so that clients get KAFKA_STORAGE_ERROR and
not "unknown topic", and the other directories go on. A new partition for which there is no space is made when there is.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from ottla.broker.clock import now_ms
from ottla.broker.time_slice import TimeSlice
from ottla.metadata.image import ClusterImage, ImageDelta, PartitionState, ResourceType, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import Leadership, Partition
from ottla.storage.directory_move import DirectoryMove
from ottla.storage.errors import StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.storage.partition_directories import TopicPartition

logger = logging.getLogger("ottla.broker.replicas")

T = TypeVar("T")
# A copy that is this close to the end of its log is finished under exclusion.
_SWAP_LAG_BYTES_MAX = 1024 * 1024
_SPACE_RETRY_S = 1.0
_FLUSHERS_PER_DIRECTORY = 4
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
        # New partitions that could not be made, by the id of their topic: the disk was full.
        self._unmade: dict[bytes, set[int]] = {}
        self.moves: dict[TopicPartition, DirectoryMove] = {}
        self._moving: set[TopicPartition] = set()
        # One at a time: a change that the metadata log asks for, or the swap at the end of a move.
        self._changing = asyncio.Lock()
        self._flushers: dict[LogDirectory, ThreadPoolExecutor] = {}
        self._copier = ThreadPoolExecutor(max_workers=1, thread_name_prefix="log-copier")

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

    def find(self, topic: str, index: int) -> Partition | None:
        """A partition of this broker, None if it is not in service here."""
        return self._topics.get(topic, {}).get(index)

    def is_online(self, topic: str, index: int) -> bool:
        """Whether the partition is in service here."""
        return index in self._topics.get(topic, {})

    @property
    def offline_count(self) -> int:
        """Partitions that are out of service because of their disk."""
        return len(self._offline)

    async def flush(self, partition: Partition, deadline: float) -> None:
        """Returns when everything appended so far is on the disk; ApiError if the disk fails, or hangs until then."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline):
                await loop.run_in_executor(self._flushers_of(partition), partition.log.flush, now_ms())
        except TimeoutError:
            raise ApiError(
                ErrorCode.REQUEST_TIMED_OUT, f"{partition.topic}-{partition.index} was not synced in time"
            ) from None
        except StorageError as error:
            raise self.disk_failed(error) from error

    def _flushers_of(self, partition: Partition) -> Executor:
        """The threads that sync the logs of a directory: a disk that hangs has no others to take."""
        directory = self.logs.directory_of(partition.topic, partition.index)
        if directory is None:
            return self._workers
        flushers = self._flushers.get(directory)
        if flushers is None:
            flushers = self._flushers[directory] = ThreadPoolExecutor(_FLUSHERS_PER_DIRECTORY, "flusher")
        return flushers

    async def tell_log_starts(self) -> None:
        """Tells readers of every partition whose oldest records went since the last call."""
        partitions = [partition for by_index in self._topics.values() for partition in by_index.values()]
        async for partition in TimeSlice().over(partitions):
            partition.tell_log_start()

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
                partition.close()

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
        move: DirectoryMove | None = None
        is_done = False
        try:
            move = self.moves[key] = await self._copying(self.logs.begin_move, *key, target, now_ms())
            while move.lag_bytes > _SWAP_LAG_BYTES_MAX:
                await self._copying(move.catch_up, now_ms())
            async with self._changing:
                is_done = await self._swap(partition, move)
        except StorageError as error:
            self.disk_failed(error)
        except ApiError as error:
            logger.warning("%s-%d stays where it is: %s", *key, error)
        finally:
            if move is not None and not is_done:
                await self._copying(move.abandon)
            self.moves.pop(key, None)
            self._moving.discard(key)

    async def _swap(self, partition: Partition, move: DirectoryMove) -> bool:
        """Puts the copy in the place of the log; False if the partition went away while it was copied.

        For that moment the partition is not there: clients hear "not the leader" and come again.
        """
        partitions = self._topics.get(partition.topic, {})
        if partitions.get(partition.index) is not partition:
            return False
        del partitions[partition.index]
        partition.close()
        log = partition.log
        try:
            log = await self._copying(self.logs.finish_move, move, partition.topic_id, now_ms())
        finally:
            partitions[partition.index] = Partition(
                partition.topic, partition.index, partition.topic_id, self.broker_id, log, partition.leadership
            )
        return True

    async def _copying(self, work: Callable[..., T], *arguments: object) -> T:
        """Work of a move: in a thread of its own, so that a long copy keeps nobody else from the disks."""
        return await asyncio.get_running_loop().run_in_executor(self._copier, work, *arguments)

    def close(self) -> None:
        """Waits for the copier and the flushers, which begin nothing new once the tasks have ended."""
        self._copier.shutdown()
        for flushers in self._flushers.values():
            flushers.shutdown()

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
                await self._apply_topic(topic, image, may_be_new=True)
        self._apply_configs(delta, image)

    async def apply_all(self, image: ClusterImage) -> None:
        """Brings every partition of the image up, at start. Logs that the metadata does not know are put aside."""
        for topic in image.topics:
            await self._apply_topic(topic, image, may_be_new=False)
        strays = [(name, index) for (name, index), _ in self.logs.all() if index not in self._topics.get(name, {})]
        for name, index in strays:
            logger.warning("The log of %s-%d is not in the metadata; it is kept with the suffix -stray", name, index)
            await self._in_thread(self.logs.set_stray, name, index)

    async def _apply_topic(self, topic: TopicImage, image: ClusterImage, *, may_be_new: bool) -> None:
        partitions = self._topics.setdefault(topic.name, {})
        self._names[topic.id] = topic.name
        missing: dict[int, PartitionState] = {}
        for index, state in topic.partitions.items():
            if self.broker_id not in state.replicas:
                continue
            known = partitions.get(index)
            if known is None:
                missing[index] = state
            elif state.partition_epoch > known.leadership.partition_epoch:
                known.apply(_leadership(state))
        if not missing:
            return
        # A partition that the controller has never touched since its creation is new, unless this node has lost it.
        new = {
            index
            for index, state in missing.items()
            if may_be_new and state.partition_epoch == 0 and (topic.name, index) not in self._offline
        }
        for index, log in (await self._in_thread(self._open_logs, topic, sorted(missing), new, image)).items():
            partitions[index] = Partition(topic.name, index, topic.id, self.broker_id, log, _leadership(missing[index]))
        self._offline |= {(topic.name, index) for index in missing if index not in partitions}
        unmade = {index for index in new if index not in partitions}
        if unmade and self.logs.online_directories:
            self._unmade[topic.id] = unmade

    async def make_unmade(self, image_now: Callable[[], ClusterImage], on_made: Callable[[], None]) -> None:
        """Tries again and again to make the new partitions for which there was no space; ends by being cancelled."""
        while True:
            await asyncio.sleep(_SPACE_RETRY_S)
            if not self._unmade:
                continue
            async with self._changing:
                unmade, self._unmade = self._unmade, {}
                for topic_id, indexes in unmade.items():
                    topic = image_now().topics.by_id(topic_id)
                    if topic is not None:
                        self._offline -= {(topic.name, index) for index in indexes}
                        await self._apply_topic(topic, image_now(), may_be_new=True)
                on_made()

    def _open_logs(self, topic: TopicImage, indexes: list[int], new: set[int], image: ClusterImage) -> dict[int, Log]:
        """The logs that could be opened or made; in a thread, all partitions of a topic in one go."""
        config = self._log_config_of(image, topic.name)
        for index in indexes:
            if self.logs.topic_id_of(topic.name, index) not in (None, topic.id):
                # A crash came between the deletion of a topic and that of its files, and this is another of that name;
                # or partition.metadata is damaged. Nobody can tell, so nothing is thrown away.
                self.logs.set_stray(topic.name, index)
        made = self.logs.create_all(topic.name, sorted(new), topic.id, config, now_ms(), is_new=True)
        old = [index for index in indexes if index not in new]
        return made | self.logs.create_all(topic.name, old, topic.id, config, now_ms(), is_new=False)

    async def _remove_topic(self, topic_id: bytes, name: str) -> None:
        logger.info("Topic %s is deleted", name)
        self._names.pop(topic_id, None)
        partitions = self._topics.pop(name, {})
        self._offline = {key for key in self._offline if key[0] != name}
        for partition in partitions.values():
            partition.close()

        def delete() -> None:
            for index in partitions:
                self.logs.delete(name, index, now_ms())

        await self._in_thread(delete)

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
