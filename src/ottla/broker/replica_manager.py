"""The partitions that live on this broker: made, changed and removed as the metadata log says.

The image decides, this module follows: for each partition whose replicas name this broker there is a log and a
`Partition` around it. A change is applied in two steps: files are made or renamed in a thread, because the event loop
never waits for a disk; then the partitions change on the loop, all at once.

A directory whose disk fails takes its partitions with it. They stay known, so that clients get KAFKA_STORAGE_ERROR and
not "unknown topic", and the other directories go on. Subscribers, which keep state of such partitions, are told. A new
partition for which there is no space, or whose disk does not answer, is made later. The directory ids in the records
say whether a replica without a log is new (`replica_whereabouts`); a replica that was assigned to other brokers goes
with its log.

A disk that hangs holds up only those who need it: whatever may wait for it runs in its own threads (see
`directory_threads`), and so do appends if there are several directories.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ottla.broker.disks.damage_reports import DamageReports
from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.disks.directory_writer import DirectoryWriter
from ottla.broker.disks.log_changes import LogChanges
from ottla.broker.host import Host
from ottla.broker.requests.time_slice import TimeSlice
from ottla.metadata.image import ClusterImage, ImageDelta, PartitionState, ResourceType, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.records import CorruptRecords
from ottla.protocol.topic_partition import TopicPartition
from ottla.replication.leader_state import Leadership
from ottla.replication.partition import Partition
from ottla.replication.replica_whereabouts import Whereabouts, whereabouts
from ottla.storage.directory_move import DirectoryMove
from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

logger = logging.getLogger("ottla.broker.replicas")

T = TypeVar("T")
# A copy that is this close to the end of its log is finished under exclusion.
_SWAP_LAG_BYTES_MAX = 1024 * 1024
SPACE_RETRY_S = 1.0
# Kafka's default; no setting acts on it as long as there are no followers.
REPLICA_LAG_TIME_MAX_MS = 30_000
# How long the swap at the end of a move waits for appends that are under way.
_SWAP_PATIENCE_S = 3.0
# How long a client waits at most for a search that has no timeout of its own.
_SEARCH_PATIENCE_S = 10.0
_SEARCH_LOOK_S = 1.0
LogConfigOf = Callable[[ClusterImage, str], LogConfig]
OnLost = Callable[[list[TopicPartition]], None]


class ReplicaManager:
    """All partitions of this broker."""

    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        log_config_of: LogConfigOf,
        host: Host,
        *,
        directory_ids: Mapping[Path, bytes] | None = None,
    ) -> None:
        """`directory_ids` are those by which the metadata log names the directories."""
        self.host = host
        self._directory_ids = directory_ids or {}
        self.broker_id = broker_id
        self.replica_lag_time_max_ms = REPLICA_LAG_TIME_MAX_MS
        # Those neither fenced nor shutting down, with their epochs. Partitions hold on to it: it changes in place.
        self.live_brokers: dict[int, int] = {}
        self.logs = logs
        self._log_config_of = log_config_of
        has_several = len(logs.directories) > 1
        self.threads = {
            directory: DirectoryThreads(
                directory,
                DirectoryWriter(host, directory.path.name, self.disk_failed) if has_several else None,
                host,
            )
            for directory in logs.directories
        }
        self._changes = LogChanges(logs, self.threads, host)
        self._topics: dict[str, dict[int, Partition]] = {}
        self._names: dict[bytes, str] = {}
        self._offline: set[TopicPartition] = set()
        # New partitions that could not be made, by the id of their topic: the disk was full or did not answer.
        self._unmade: dict[bytes, set[int]] = {}
        # Those whose last sync failed, in the order of failing: the disk was full.
        self._unsynced: dict[Partition, None] = {}
        self._is_closing = False
        self.moves: dict[TopicPartition, DirectoryMove] = {}
        self._moving: set[TopicPartition] = set()
        # One at a time: a change that the metadata log asks for, or the swap at the end of a move.
        self._changing = asyncio.Lock()
        self._copier = host.thread_pool(1, "log-copier")
        self._on_lost: list[OnLost] = []
        self.damage = DamageReports()

    def subscribe(self, on_lost: OnLost) -> None:
        """Calls it with the partitions that a failed disk took, one turn later: somebody may be using them now."""
        self._on_lost.append(on_lost)

    # -- what handlers use ------------------------------------------------------------------------------------------

    def monotonic_ms(self) -> int:
        """A clock that never jumps, for who lags behind."""
        return int(self.host.monotonic_s() * 1000)

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

    def all(self) -> list[Partition]:
        """Every partition that is in service here."""
        return [partition for partitions in self._topics.values() for partition in partitions.values()]

    def is_online(self, topic: str, index: int) -> bool:
        """Whether the partition is in service here."""
        return index in self._topics.get(topic, {})

    def is_swapping(self, topic: str, index: int) -> bool:
        """Whether the partition is out of service for the moment at the end of a move between directories."""
        return (topic, index) in self.moves and self.find(topic, index) is None

    async def wait_for_changes(self) -> None:
        """Returns when the change of partitions has ended that is under way, if there is one."""
        async with self._changing:
            pass

    @property
    def offline_count(self) -> int:
        """Partitions that are out of service because of their disk."""
        return len(self._offline)

    def begin_sync(self, partition: Partition) -> None:
        """Syncs a partition's log in a thread of its disk, and tells the partition how that ended."""
        if self._is_closing:
            return
        try:
            sync = self.threads_of(partition).flushing(partition.log, self.host.now_ms())
        except ApiError as gone:
            partition.sync_failed(gone)
        else:
            sync.add_done_callback(partial(self._sync_ended, partition))

    def _sync_ended(self, partition: Partition, sync: "asyncio.Future[None]") -> None:
        if sync.cancelled():
            # The node stops.
            return
        error = sync.exception()
        if error is None:
            partition.synced()
        elif isinstance(error, LogGone):
            partition.sync_failed(partition.not_leader())
        else:
            self._sync_failed(partition, error)

    def _sync_failed(self, partition: Partition, error: BaseException) -> None:
        if isinstance(error, StorageError):
            failure = self.disk_failed(error)
        else:
            logger.error("%s-%d was not synced", partition.topic, partition.index, exc_info=error)
            failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The log of the node has the reason")
        partition.sync_failed(failure)
        if self.find(partition.topic, partition.index) is partition:
            self._unsynced[partition] = None

    def sync_again(self) -> None:
        """Begins the syncs again that failed, in directories that are still online; to be called again and again.

        Until one succeeds, what waits for it is neither readable nor acknowledged.
        """
        unsynced, self._unsynced = self._unsynced, {}
        for partition in unsynced:
            if self.find(partition.topic, partition.index) is partition:
                partition.sync_again()

    def stop_syncing(self) -> None:
        """Nobody waits for a sync any more, and whoever closes the logs syncs them."""
        self._is_closing = True

    async def search(self, partition: Partition, work: Callable[..., T], *arguments: object) -> T:
        """The outcome of a search through a partition's log; ApiError if the disk fails or hangs."""
        threads = self.threads_of(partition)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SEARCH_PATIENCE_S
        search: asyncio.Future[T] | None = None
        while not threads.is_hanging and loop.time() < deadline:
            search = search or threads.searching(work, *arguments)
            await asyncio.wait((search,), timeout=_SEARCH_LOOK_S)
            if search.done():
                try:
                    return search.result()
                except CorruptRecords as error:
                    self.damage.note(partition, None, error)
                    raise
                except StorageError as error:
                    raise self.disk_failed(error) from error
        if search is not None:
            search.cancel()
        message = f"The disk of {partition.topic}-{partition.index} does not answer"
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message)

    def threads_of(self, partition: Partition) -> DirectoryThreads:
        """The threads of the disk that holds a partition; ApiError if it is not held any more."""
        directory = self.logs.directory_of(partition.topic, partition.index)
        if directory is None:
            raise partition.not_leader()
        return self.threads[directory]

    async def tell_log_starts(self) -> None:
        """Tells readers of every partition whose oldest records went since the last call."""
        partitions = [partition for by_index in self._topics.values() for partition in by_index.values()]
        async for partition in TimeSlice(self.host.monotonic_s).over(partitions):
            partition.tell_log_start()

    def disk_failed(self, error: StorageError) -> ApiError:
        """Takes the failed directory offline, and gives the error for whoever was using it."""
        failure = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        if len(self.threads) == 1 or isinstance(error, DiskFull):
            self.directory_failed(self.logs.fail_directory(error))
            return failure
        for directory in self.logs.online_directories:
            if directory.path == error.log_dir:
                self._put_out_of_service(list(directory.logs))
                self.threads[directory].fail()
                # Somebody may hang there with the lock of a log.
                self.host.start_thread(partial(self._fail_directory, error), "failure")
        return failure

    def _fail_directory(self, error: StorageError) -> None:
        self.logs.fail_directory(error)

    def directory_failed(self, lost: list[TopicPartition]) -> None:
        """Puts the partitions of a failed directory out of service."""
        for threads in self.threads.values():
            if not threads.directory.is_online:
                threads.fail()
        # Another one of that name may be there by now, on another disk.
        found = {key: self.find(*key) for key in lost}
        self._put_out_of_service(
            [key for key, partition in found.items() if partition is None or partition.log.is_gone]
        )

    def _put_out_of_service(self, lost: list[TopicPartition]) -> None:
        for topic, index in lost:
            partition = self._topics.get(topic, {}).pop(index, None)
            self._offline.add(TopicPartition(topic, index))
            if partition is not None:
                partition.close()
        for on_lost in self._on_lost:
            asyncio.get_running_loop().call_soon(on_lost, lost)

    def move(self, topic: str, index: int, target: LogDirectory) -> Coroutine[Any, Any, None] | None:
        """The work of moving a partition's log to another directory; None if it is there or on its way."""
        key = TopicPartition(topic, index)
        partition = self.partition(topic, index)
        if key in self._moving or self.logs.directory_of(topic, index) is target:
            return None
        self._moving.add(key)
        return self._move(partition, target)

    async def _move(self, partition: Partition, target: LogDirectory) -> None:
        """Copies the log while it is in use, then swaps."""
        key = TopicPartition(partition.topic, partition.index)
        move: DirectoryMove | None = None
        is_done = False
        try:
            move = self.moves[key] = await self._copying(self.logs.begin_move, *key, target, self.host.now_ms())
            while move.lag_bytes > _SWAP_LAG_BYTES_MAX:
                await self._copying(move.catch_up, self.host.now_ms())
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
        successor = partition
        try:
            writer = self.threads[move.source].writer
            assert writer is not None, "only who has several directories moves"
            await writer.drain(asyncio.get_running_loop().time() + _SWAP_PATIENCE_S)
            log = await self._copying(self.logs.finish_move, move, partition.topic_id, self.host.now_ms())
            successor = self._partition(partition.topic, partition.index, partition.topic_id, log, partition.leadership)
        finally:
            if not successor.log.is_gone:
                successor.reopen()
                partitions[partition.index] = successor
        return True

    async def _copying(self, work: Callable[..., T], *arguments: object) -> T:
        """Work of a move: in a thread of its own, so that a long copy keeps nobody else from the disks."""
        return await asyncio.get_running_loop().run_in_executor(self._copier, work, *arguments)

    def stop_copying(self) -> None:
        """Waits for the copier, which begins nothing new once the tasks have ended; for a thread."""
        self._copier.shutdown()

    # -- what the metadata log says ---------------------------------------------------------------------------------

    async def apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Follows a change of the image."""
        async with self._changing:
            await self._apply(delta, image)

    async def _apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        if delta.changed_brokers:
            self._note_live_brokers(image)
        for topic_id, name in delta.deleted_topics.items():
            await self._remove_topic(topic_id, name)
        # In an order that can be repeated: it decides in which directories new logs are made.
        changed = (image.topics.by_id(topic_id) for topic_id in sorted(delta.changed_topics))
        for topic in changed:
            if topic is not None:
                if topic.id in delta.created_topics:
                    logger.info("Topic %s is created with %d partitions", topic.name, len(topic.partitions))
                await self._apply_topic(topic, image, may_be_new=True)
        self._apply_configs(delta, image)

    async def apply_all(self, image: ClusterImage) -> None:
        """Brings every partition of the image up, at start. Logs that the metadata does not know are put aside."""
        self._note_live_brokers(image)
        for topic in sorted(image.topics, key=lambda topic: topic.name):
            await self._apply_topic(topic, image, may_be_new=False)
        strays = [held for held, _ in self.logs.all() if held.partition not in self._topics.get(held.topic, {})]
        for stray in strays:
            logger.warning("The log of %s is not in the metadata; it is kept with the suffix -stray", stray)
        await self._changes.set_stray(strays)

    async def _apply_topic(
        self, topic: TopicImage, image: ClusterImage, *, may_be_new: bool, unmade: Collection[int] = ()
    ) -> None:
        """Brings the partitions of a topic up; those `unmade` were new before, and there was no space for them."""
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
        await self._remove_taken_away(topic)
        if not missing:
            return
        new: set[int] = set()
        placed: dict[int, LogDirectory] = {}
        online = {one: directory for directory in self.logs.online_directories if (one := self._id_of(directory))}
        for index, state in missing.items():
            directory_id = state.directories[state.replicas.index(self.broker_id)]
            # What was assigned before is either in service, or known to be offline.
            is_known = (topic.name, index) in self._offline and index not in unmade
            where = whereabouts(
                directory_id,
                online,
                has_offline=self.logs.has_missing_directories,
                is_just_assigned=may_be_new and not is_known,
            )
            if where is Whereabouts.IN_ITS_DIRECTORY:
                placed[index] = online[directory_id]
            elif where is Whereabouts.ANYWHERE:
                new.add(index)
        config = self._log_config_of(image, topic.name)
        made = await self._changes.make(
            topic.name, topic.id, sorted(missing), new, config, placed=placed, waits_for_all=not may_be_new
        )
        for index, log in made.items():
            partitions[index] = self._partition(topic.name, index, topic.id, log, _leadership(missing[index]))
        self._offline -= {TopicPartition(topic.name, index) for index in made}
        self._offline |= {TopicPartition(topic.name, index) for index in missing if index not in partitions}
        still_unmade = {index for index in (*new, *placed) if index not in partitions}
        if still_unmade and may_be_new and self.logs.online_directories:
            self._unmade[topic.id] = still_unmade

    async def make_unmade(self, image_now: Callable[[], ClusterImage], on_made: Callable[[], None]) -> None:
        """Tries to make the new partitions that could not be made; to be called again and again.

        Until one is made it stays offline. One that fails keeps no other one from its service; failures are raised in
        the end.
        """
        if not self._unmade:
            return
        failures: list[Exception] = []
        async with self._changing:
            for topic_id in list(self._unmade):
                topic = image_now().topics.by_id(topic_id)
                unmade = self._unmade.pop(topic_id)
                if topic is None:
                    continue
                try:
                    await self._apply_topic(topic, image_now(), may_be_new=True, unmade=unmade)
                except Exception as error:  # noqa: BLE001 - raised when the others had their turn
                    self._unmade[topic_id] = unmade
                    failures.append(error)
            on_made()
        if failures:
            raise ExceptionGroup("new partitions cannot be made", failures)

    def _id_of(self, directory: LogDirectory) -> bytes | None:
        return self._directory_ids.get(directory.path)

    def _partition(self, topic: str, index: int, topic_id: bytes, log: Log, leadership: Leadership) -> Partition:
        directory = self.logs.directory_of(topic, index)
        queue = None if directory is None else self.threads[directory].writer
        return Partition(topic, index, topic_id, self, log, leadership, queue)

    async def _remove_topic(self, topic_id: bytes, name: str) -> None:
        logger.info("Topic %s is deleted", name)
        self._names.pop(topic_id, None)
        partitions = self._topics.pop(name, {})
        self._offline = {key for key in self._offline if key[0] != name}
        for partition in partitions.values():
            partition.close()
        await self._changes.remove_topic(name, partitions)

    async def _remove_taken_away(self, topic: TopicImage) -> None:
        """Removes the replicas that were assigned to other brokers, with their logs."""
        partitions = self._topics.get(topic.name, {})
        gone = [
            index
            for index, state in topic.partitions.items()
            if self.broker_id not in state.replicas and (index in partitions or (topic.name, index) in self._offline)
        ]
        if not gone:
            return
        for index in gone:
            logger.info("%s-%d has no replica here any more; its log is deleted", topic.name, index)
            self._offline.discard(TopicPartition(topic.name, index))
            self._unmade.get(topic.id, set()).discard(index)
            partition = partitions.pop(index, None)
            if partition is not None:
                partition.close()
        await self._changes.remove([TopicPartition(topic.name, index) for index in gone])

    def _note_live_brokers(self, image: ClusterImage) -> None:
        self.live_brokers.clear()
        for broker in image.brokers:
            if not broker.is_fenced and not broker.is_in_controlled_shutdown:
                self.live_brokers[broker.id] = broker.epoch

    def _apply_configs(self, delta: ImageDelta, image: ClusterImage) -> None:
        if any(kind == ResourceType.BROKER for kind, _ in delta.changed_configs):
            names = list(self._topics)
        else:
            changed = sorted(name for kind, name in delta.changed_configs if kind == ResourceType.TOPIC)
            names = [name for name in changed if name in self._topics]
        for name in names:
            config = self._log_config_of(image, name)
            for partition in self._topics[name].values():
                partition.update_config(config)


def _leadership(state: PartitionState) -> Leadership:
    return Leadership(state.leader, state.leader_epoch, state.replicas, state.isr, state.partition_epoch)
