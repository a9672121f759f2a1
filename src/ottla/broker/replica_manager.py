"""The partitions that live on this broker: created, changed and removed as the metadata log says.

The image decides, this module follows: each partition that has a replica on this broker has a log and a `Partition`
around it. A change is applied in two steps. First the partitions that are here change on the loop, all at once: whoever
leads or follows anew does not wait for the files of others. Then logs are created and removed, topic by topic, in
threads, because the event loop never waits for a disk; a new partition goes into service with its log.

When a disk fails, the partitions of its directory go offline. They stay known, so that clients get KAFKA_STORAGE_ERROR
and not "unknown topic"; the other directories are not affected. Subscribers that keep state of such partitions are
notified. A new partition for which there is no space, or whose disk does not answer, is created later. The directory
ids in the records say whether a replica without a log is new (`replica_whereabouts`). When a replica is reassigned to
another broker, its log is deleted here.

A disk that hangs affects only those who need it: everything that may wait for it runs in threads of its own (see
`directory_threads`), and so do appends if there are several directories.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

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
from ottla.replication.append_queue import AppendQueue
from ottla.replication.fetch_session import FetchSessionCache
from ottla.replication.following import Cut, Following
from ottla.replication.leader_state import InSyncProposal, Leadership
from ottla.replication.partition import Partition
from ottla.replication.replica_whereabouts import Whereabouts, decide_whereabouts
from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

logger = logging.getLogger("ottla.broker.replicas")

T = TypeVar("T")
SPACE_RETRY_S = 1.0
# Kafka's default.
REPLICA_LAG_TIME_MAX_MS = 30_000
# How long a client waits at most for a search without a timeout of its own.
_SEARCH_PATIENCE_S = 10.0
_SEARCH_LOOK_S = 1.0
LogConfigOf = Callable[[ClusterImage, str], LogConfig]
OnLost = Callable[[list[TopicPartition]], None]
OnProposal = Callable[[Partition, InSyncProposal], None]


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
        replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS,
    ) -> None:
        """`directory_ids` are the ids that the directories have in the metadata log."""
        self.host = host
        self._directory_ids = directory_ids or {}
        self.broker_id = broker_id
        self.replica_lag_time_max_ms = replica_lag_time_max_ms
        # Brokers that are neither fenced nor shutting down, with their epochs. Partitions share it, so it changes in
        # place.
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
        # Of every topic in the image, with those that have no replica here.
        self._partition_counts: dict[str, int] = {}
        self._offline: set[TopicPartition] = set()
        # New partitions that could not be created, by topic id: the disk was full or did not answer.
        self._uncreated: dict[bytes, set[int]] = {}
        # Partitions whose last sync failed, in the order of their failures: the disk was full.
        self._unsynced: dict[Partition, None] = {}
        self._is_closing = False
        # Out of service for a moment, while a log is replaced.
        self._suspended: set[TopicPartition] = set()
        # Held by a change from the metadata log, or while a log is replaced: one at a time.
        self._changing = asyncio.Lock()
        # Followers whose logs are being cut in a thread.
        self._cuts: dict[Partition, asyncio.Future[None]] = {}
        self._on_lost: list[OnLost] = []
        self.damage = DamageReports()
        # Set by `DirectoryReports`: called with each partition whose log goes into service.
        self.on_placed: Callable[[Partition], None] | None = None
        # Set by `InSyncChanges`.
        self.on_proposal: OnProposal | None = None
        self.fetch_sessions: FetchSessionCache | None = None

    def subscribe(self, on_lost: OnLost) -> None:
        """Calls `on_lost` with the partitions of a failed disk, one turn of the loop later: they may be in use now."""
        self._on_lost.append(on_lost)

    # -- what handlers use ------------------------------------------------------------------------------------------

    def monotonic_ms(self) -> int:
        """A clock that never jumps, to measure how far replicas lag."""
        return int(self.host.monotonic_s() * 1000)

    def topic_name(self, topic_id: bytes) -> str:
        """The name of the topic with this id."""
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
            if (topic, index) in self._suspended:
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is moving to another directory")
            if (topic, index) in self._offline:
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The disk that holds {topic}-{index} has failed")
        if 0 <= index < self._partition_counts.get(topic, 0):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} has no replica on this broker")
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{index} does not exist")

    def find_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        """A partition of this broker by the id of its topic, None if it is not in service here."""
        name = self._names.get(topic_id)
        partition = None if name is None else self.find(name, index)
        return partition if partition is not None and partition.topic_id == topic_id else None

    def find(self, topic: str, index: int) -> Partition | None:
        """A partition of this broker, None if it is not in service here."""
        return self._topics.get(topic, {}).get(index)

    def all(self) -> list[Partition]:
        """Every partition that is in service here."""
        return [partition for partitions in self._topics.values() for partition in partitions.values()]

    def is_online(self, topic: str, index: int) -> bool:
        """Whether the partition is in service here."""
        return index in self._topics.get(topic, {})

    def is_suspended(self, topic: str, index: int) -> bool:
        """Whether the partition is out of service for the moment at the end of a move between directories."""
        return (topic, index) in self._suspended

    async def wait_for_changes(self) -> None:
        """Returns when no change of partitions is in progress."""
        async with self._changing:
            pass

    @property
    def offline_count(self) -> int:
        """How many partitions are out of service because of their disk."""
        return len(self._offline)

    def propose(self, partition: Partition, proposal: InSyncProposal) -> None:
        """Passes on what a leader wants to ask of the controller."""
        assert self.on_proposal is not None, "nobody asks the controller"
        self.on_proposal(partition, proposal)

    def caught_up_as_of(self, partition: Partition, replica_id: int) -> int | None:
        """When a follower last fetched by a session that had nothing new to tell about a partition."""
        if self.fetch_sessions is None:
            return None
        return self.fetch_sessions.caught_up_as_of(replica_id, (partition.topic_id, partition.index))

    def hurry(self, replica_id: int) -> None:
        """Answers the fetch in which a follower waits, so that it can send another one."""
        if self.fetch_sessions is not None:
            self.fetch_sessions.hurry(replica_id)

    def begin_sync(self, partition: Partition) -> None:
        """Syncs a partition's log in a thread of its disk, and tells the partition how that ended."""
        if self._is_closing:
            return
        try:
            sync = self.threads_of(partition).flush(partition.log, self.host.now_ms())
        except ApiError as gone:
            partition.sync_failed(gone)
        else:
            sync.add_done_callback(partial(self._sync_ended, partition, partition.log))

    def _sync_ended(self, partition: Partition, log: Log, sync: "asyncio.Future[None]") -> None:
        if sync.cancelled() or partition.log is not log:
            # The node stops, or the log has moved to another directory, and its copy is synced.
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
        """Retries the syncs that failed, in directories that are still online; to be called periodically.

        Until a sync succeeds, the records that wait for it are neither readable nor acknowledged.
        """
        unsynced, self._unsynced = self._unsynced, {}
        for partition in unsynced:
            if self.find(partition.topic, partition.index) is partition:
                partition.sync_again()

    def stop_syncing(self) -> None:
        """Starts no further sync: nobody waits for one any more, and closing the logs syncs them."""
        self._is_closing = True

    async def search(self, partition: Partition, work: Callable[..., T], *arguments: object) -> T:
        """Runs a search through a partition's log in a thread; ApiError if the disk fails or hangs."""
        threads = self.threads_of(partition)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SEARCH_PATIENCE_S
        search: asyncio.Future[T] | None = None
        while not threads.is_hanging and loop.time() < deadline:
            search = search or threads.run_search(work, *arguments)
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

    async def sync(self, partition: Partition) -> None:
        """Returns when all that is in a partition's log now is on the disk."""
        await self.threads_of(partition).flush(partition.log, self.host.now_ms())

    async def cut(self, partition: Partition, following: Following, cut: Cut) -> None:
        """Shortens the log of a follower, in a thread or in the queue of its disk.

        The next change of the partition's leadership waits for the thread; the queue keeps the order by itself.
        """
        work = following.begin_cut(cut, now_ms=self.host.now_ms())
        try:
            if not callable(work):
                await work.result(float("inf"))
                return
            job = self._cuts[partition] = self.threads_of(partition).run_change(work)
            job.add_done_callback(partial(self._cut_ended, partition))
            # Not cancelled with whoever waits: a thread cannot be stopped.
            await asyncio.wait((job,))
            job.result()
            following.was_cut()
        except Exception:
            following.change_failed()
            raise

    def _cut_ended(self, partition: Partition, job: "asyncio.Future[None]") -> None:
        self._cuts.pop(partition, None)
        if not job.cancelled():
            # Mark the error as retrieved: whoever waited for the cut may have been cancelled.
            job.exception()

    def threads_of(self, partition: Partition) -> DirectoryThreads:
        """The threads of the disk that holds a partition; ApiError if none does any more."""
        directory = self.logs.directory_of(partition.topic, partition.index)
        if directory is None:
            raise partition.not_leader()
        return self.threads[directory]

    async def announce_log_starts(self) -> None:
        """Notifies readers of every partition whose log start has moved since the last call."""
        partitions = [partition for by_index in self._topics.values() for partition in by_index.values()]
        async for partition in TimeSlice(self.host.monotonic_s).over(partitions):
            partition.tell_log_start()

    def disk_failed(self, error: StorageError) -> ApiError:
        """Takes the failed directory offline, and returns the error for the request that was using it."""
        failure = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        if len(self.threads) == 1 or isinstance(error, DiskFull):
            self.directory_failed(self.logs.fail_directory(error))
            return failure
        for directory in self.logs.online_directories:
            if directory.path == error.log_dir:
                self._put_out_of_service(list(directory.logs))
                self.threads[directory].fail()
                # A thread may hang there and hold the lock of a log.
                self.host.start_thread(partial(self._fail_directory, error), "failure")
        return failure

    def _fail_directory(self, error: StorageError) -> None:
        self.logs.fail_directory(error)

    def directory_failed(self, lost: list[TopicPartition]) -> None:
        """Puts the partitions of a failed directory out of service."""
        for threads in self.threads.values():
            if not threads.directory.is_online:
                threads.fail()
        # A new partition of that name may exist by now, on another disk.
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

    async def replace_log(self, partition: Partition, replace: Callable[[], Awaitable[Log]]) -> bool:
        """Takes a partition out of service until `replace` has moved its log, or has failed: then the log stays.

        False if the partition is not in service. Meanwhile clients get NOT_LEADER_OR_FOLLOWER and retry, and no change
        of the metadata is applied.
        """
        async with self._changing:
            key = TopicPartition(partition.topic, partition.index)
            partitions = self._topics.get(partition.topic, {})
            if partitions.get(partition.index) is not partition:
                return False
            del partitions[partition.index]
            self._suspended.add(key)
            partition.suspend()
            try:
                log = await replace()
                partition.move_to(log, self._queue_of(*key))
            finally:
                self._suspended.discard(key)
                if partition.log.is_gone:
                    partition.close()
                else:
                    partition.resume()
                    partitions[partition.index] = partition
                    # The disk that it came from may have failed since.
                    self._offline.discard(key)
            if self.on_placed is not None:
                self.on_placed(partition)
            return True

    # -- what the metadata log says ---------------------------------------------------------------------------------

    async def apply(
        self, delta: ImageDelta, image: ClusterImage, on_changed: Callable[[], None] = lambda: None
    ) -> None:
        """Applies a change of the image. If files are to be created or deleted, `on_changed` is called before that:
        the partitions that are here have their new states then."""
        async with self._changing:
            await self._apply(delta, image, on_changed)

    async def _apply(self, delta: ImageDelta, image: ClusterImage, on_changed: Callable[[], None]) -> None:
        if delta.changed_brokers:
            self._update_live_brokers(image)
        deleted = {name: self._close_topic(topic_id, name) for topic_id, name in delta.deleted_topics.items()}
        # The order decides in which directories new logs are created, so it must be repeatable.
        found = (image.topics.by_id(topic_id) for topic_id in sorted(delta.changed_topics))
        changed = [topic for topic in found if topic is not None]
        reassigned: list[TopicPartition] = []
        for topic in changed:
            self._note_topic(topic)
            reassigned += self._close_reassigned(topic)
        await self._change_states(changed)
        if deleted or reassigned or any(self._missing(topic) for topic in changed):
            on_changed()
        for name, indexes in deleted.items():
            await self._changes.remove_topic(name, indexes)
        await self._changes.remove(reassigned)
        for topic in changed:
            if topic.id in delta.created_topics:
                logger.info("Topic %s is created with %d partitions", topic.name, len(topic.partitions))
            await self._open_or_create(topic, image, may_be_new=True)
        self._apply_configs(delta, image)
        if delta.changed_brokers:
            for partition in self.all():
                partition.expand_in_sync()

    async def _change_states(self, topics: list[TopicImage]) -> None:
        """Gives the partitions that are here the states that the image has, in one turn of the loop.

        Only those whose logs are being cut are waited for.
        """
        being_cut: list[tuple[Partition, PartitionState]] = []
        for topic in topics:
            for index, known in self._topics[topic.name].items():
                state = topic.partitions[index]
                if state.partition_epoch <= known.leadership.partition_epoch:
                    continue
                if known in self._cuts:
                    being_cut.append((known, state))
                else:
                    known.apply(_leadership(state))
        for known, state in being_cut:
            if known in self._cuts:
                await asyncio.wait((self._cuts[known],))
            if self.find(known.topic, known.index) is known:
                known.apply(_leadership(state))

    async def apply_all(self, image: ClusterImage) -> None:
        """Opens every partition of the image, at start. Logs that the metadata does not know are set aside as
        strays."""
        self._update_live_brokers(image)
        for topic in sorted(image.topics, key=lambda topic: topic.name):
            self._note_topic(topic)
            await self._open_or_create(topic, image, may_be_new=False)
        strays = [held for held, _ in self.logs.all() if held.partition not in self._topics.get(held.topic, {})]
        for stray in strays:
            logger.warning("The log of %s is not in the metadata; it is kept with the suffix -stray", stray)
        await self._changes.set_stray(strays)

    def _note_topic(self, topic: TopicImage) -> None:
        self._topics.setdefault(topic.name, {})
        self._names[topic.id] = topic.name
        self._partition_counts[topic.name] = len(topic.partitions)

    def _missing(self, topic: TopicImage) -> dict[int, PartitionState]:
        """The replicas that this broker should have of a topic, and that are not in service."""
        partitions = self._topics[topic.name]
        return {
            index: state
            for index, state in topic.partitions.items()
            if index not in partitions and self.broker_id in state.replicas
        }

    async def _open_or_create(
        self, topic: TopicImage, image: ClusterImage, *, may_be_new: bool, uncreated: Collection[int] = ()
    ) -> None:
        """Opens or creates what is missing of a topic. Those `uncreated` were new before, and could not be created."""
        missing = self._missing(topic)
        if not missing:
            return
        new: set[int] = set()
        placed: dict[int, LogDirectory] = {}
        online = {one: directory for directory in self.logs.online_directories if (one := self._id_of(directory))}
        for index, state in missing.items():
            directory_id = state.directories[state.replicas.index(self.broker_id)]
            # A replica that was assigned before is either in service, or known to be offline.
            is_known = (topic.name, index) in self._offline and index not in uncreated
            where = decide_whereabouts(
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
        made = await self._changes.open_or_create(
            topic.name, topic.id, sorted(missing), new, config, placed=placed, waits_for_all=not may_be_new
        )
        partitions = self._topics[topic.name]
        for index, log in made.items():
            partition = self._partition_unless_gone(topic, index, log, _leadership(missing[index]))
            if partition is not None:
                partitions[index] = partition
        self._offline -= {TopicPartition(topic.name, index) for index in missing if index in partitions}
        self._offline |= {TopicPartition(topic.name, index) for index in missing if index not in partitions}
        # A log that was created and then lost stays offline: a second one elsewhere would contradict it.
        still_uncreated = {index for index in (*new, *placed) if index not in made}
        if still_uncreated and may_be_new and self.logs.online_directories:
            self._uncreated[topic.id] = still_uncreated

    async def retry_creation(self, image_now: Callable[[], ClusterImage], on_made: Callable[[], None]) -> None:
        """Tries again to create the new partitions that could not be created; to be called periodically.

        Until a partition is created it is offline. If one fails, the others are created all the same; failures are
        raised at the end.
        """
        if not self._uncreated:
            return
        failures: list[Exception] = []
        async with self._changing:
            for topic_id in list(self._uncreated):
                topic = image_now().topics.by_id(topic_id)
                uncreated = self._uncreated.pop(topic_id)
                if topic is None or topic_id not in self._names:
                    continue
                try:
                    await self._open_or_create(topic, image_now(), may_be_new=True, uncreated=uncreated)
                except Exception as error:  # noqa: BLE001 - raised once the others had their turn
                    self._uncreated[topic_id] = uncreated
                    failures.append(error)
            on_made()
        if failures:
            raise ExceptionGroup("new partitions cannot be created", failures)

    def directory_id_of(self, partition: Partition) -> bytes | None:
        """The id of the directory that holds a partition's log."""
        directory = self.logs.directory_of(partition.topic, partition.index)
        return None if directory is None else self._id_of(directory)

    def _id_of(self, directory: LogDirectory) -> bytes | None:
        return self._directory_ids.get(directory.path)

    def _queue_of(self, topic: str, index: int) -> AppendQueue | None:
        directory = self.logs.directory_of(topic, index)
        return None if directory is None else self.threads[directory].writer

    def _partition(self, topic: str, index: int, topic_id: bytes, log: Log, leadership: Leadership) -> Partition:
        partition = Partition(topic, index, topic_id, self, log, leadership, self._queue_of(topic, index))
        if self.on_placed is not None:
            self.on_placed(partition)
        return partition

    def _partition_unless_gone(
        self, topic: TopicImage, index: int, log: Log, leadership: Leadership
    ) -> Partition | None:
        """The partition of a log; None if its disk failed while other disks were still creating their logs."""
        try:
            return None if log.is_gone else self._partition(topic.name, index, topic.id, log, leadership)
        except ApiError as error:
            logger.warning("%s-%d cannot go into service: %s", topic.name, index, error)
            return None

    def _close_topic(self, topic_id: bytes, name: str) -> list[int]:
        """Puts a deleted topic out of service; the partitions whose logs are to be removed."""
        logger.info("Topic %s is deleted", name)
        self._names.pop(topic_id, None)
        self._partition_counts.pop(name, None)
        partitions = self._topics.pop(name, {})
        self._offline = {key for key in self._offline if key[0] != name}
        for partition in partitions.values():
            partition.close()
        return list(partitions)

    def _close_reassigned(self, topic: TopicImage) -> list[TopicPartition]:
        """Puts the replicas out of service that were reassigned to other brokers; those whose logs are to be
        removed."""
        partitions = self._topics[topic.name]
        gone = [
            index
            for index, state in topic.partitions.items()
            if self.broker_id not in state.replicas and (index in partitions or (topic.name, index) in self._offline)
        ]
        for index in gone:
            logger.info("%s-%d has no replica here any more; its log is deleted", topic.name, index)
            self._offline.discard(TopicPartition(topic.name, index))
            self._uncreated.get(topic.id, set()).discard(index)
            partition = partitions.pop(index, None)
            if partition is not None:
                partition.close()
        return [TopicPartition(topic.name, index) for index in gone]

    def _update_live_brokers(self, image: ClusterImage) -> None:
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
