"""Runs the shards of a coordinator: one for each partition of its topic that this node leads.

The runtime is the same for every kind of coordinator; what a shard decides is not its business. It loads a shard when
its partition is led here, gives it the means to write (`ShardWrites`), and takes it out of service when the leadership
goes, the disk fails, or the shard has to be loaded again.

Guarantees
- A shard belongs to one leader epoch. A partition that is lost and gained again, even within one step of the image, is
  loaded again.
- A shard has read all that an earlier epoch wrote, also what still waited for its disk when this epoch began.
- A shard serves once everything it has read is committed: what lies above the watermark may still be cut off, and
  nobody must be told of it. Until then its clients hear COORDINATOR_LOAD_IN_PROGRESS. Other brokers may have to fetch
  for that, so a broker that starts waits for what it has to read (`all_read`), not for what they have to (`loaded`).
- A shard is closed first, then those who wait for it are answered (NOT_COORDINATOR).
- A partition that cannot be loaded is not served, for its keys would seem to have no state; clients and
  FindCoordinator hear why. It is tried again and again: a full disk may have space by then.

Nothing here survives a crash: shards are read from their logs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sized
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ottla.broker.coordinators.internal_topic import CoordinatorStore
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.tasks import Tasks
from ottla.protocol.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)

_LOAD_AGAIN_S = 1.0


class Closable(Protocol):
    """A shard at work."""

    def close(self) -> None:
        """It is not in service any more, and writes nothing: whoever is parked there is to be answered."""


@dataclass(frozen=True, slots=True)
class _Load:
    """A shard that is being loaded, and whether its log is read already."""

    task: asyncio.Task[None]
    has_read: asyncio.Event


LoadedT = TypeVar("LoadedT", bound=Sized)
ActiveT = TypeVar("ActiveT", bound=Closable)


class CoordinatorRuntime(Generic[LoadedT, ActiveT]):
    """The shards of one coordinator, by partition."""

    def __init__(
        self,
        store: CoordinatorStore,
        contents: str,
        tasks: Tasks,
        commit_timeout_ms: int,
        load: Callable[[int, Iterator[memoryview]], LoadedT],
        activate: Callable[[LoadedT, ShardWrites], ActiveT],
    ) -> None:
        """`load` makes a shard of a partition's log, in a thread; `activate` puts it to work, on the loop.

        `contents` says of what a loaded partition has so and so many.
        """
        self._topic = store.topic
        self._name = store.topic.spec.name
        self._contents = contents
        self._log = store.log
        self._tasks = tasks
        self._commit_timeout_ms = commit_timeout_ms
        self._load = load
        self._activate = activate
        self._epochs: dict[int, int] = {}
        self._active: dict[int, tuple[ActiveT, ShardWrites]] = {}
        self._loads: dict[int, _Load] = {}
        self._failures: dict[int, str] = {}
        # Sizes of what was loaded since the last time that all was: most nodes have fifty small partitions, which are
        # worth one line in the log and not one each.
        self._loaded_sizes: list[int] = []

    # -- leadership ---------------------------------------------------------------------------------------------------

    def become_leader(self, partition: int, leader_epoch: int) -> None:
        """This node leads the partition in that epoch: loads it, unless that was done before, and did not fail."""
        if self._epochs.get(partition) == leader_epoch and partition not in self._failures:
            return
        self.resign(partition)
        self._epochs[partition] = leader_epoch
        if self._log.is_surely_empty(partition):
            # Nothing to read: the first user of a new cluster need not be told to come again.
            self._put_to_work(partition, self._load(partition, iter(())))
            return
        self._begin_load(partition)

    def reload(self, partition: int) -> None:
        """Begins anew with what the log has."""
        leader_epoch = self._epochs[partition]
        self.resign(partition)
        self._epochs[partition] = leader_epoch
        self._begin_load(partition)

    def resign(self, partition: int) -> None:
        """This node no longer leads the partition; a load that still runs ends without effect."""
        self._epochs.pop(partition, None)
        self._failures.pop(partition, None)
        self._loads.pop(partition, None)
        found = self._active.pop(partition, None)
        if found is not None:
            active, writes = found
            writes.close()
            active.close()

    def resign_all(self) -> None:
        """The topic is gone, or the node is about to be."""
        for partition in list(self._epochs):
            self.resign(partition)

    async def all_read(self) -> None:
        """Returns once the log of every partition that is led has been read, as far as it can be."""
        for load in list(self._loads.values()):
            await load.has_read.wait()

    async def loaded(self) -> None:
        """Returns once every partition that is led is served, or cannot be."""
        await asyncio.gather(*(load.task for load in self._loads.values()), return_exceptions=True)

    # -- service ------------------------------------------------------------------------------------------------------

    def serving(self, key: str) -> ActiveT:
        """The shard of a key; ApiError if it is not served here, or not yet."""
        return self.active(self._topic.partition_of(key))

    def active(self, partition: int) -> ActiveT:
        """The shard of a partition; ApiError if it is not served here, or not yet."""
        found = self._active.get(partition)
        if found is not None:
            return found[0]
        if partition in self._loads:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self._name}-{partition} is being loaded")
        if partition in self._failures:
            message = f"{self._name}-{partition} cannot be served: {self._failures[partition]}"
            raise ApiError(ErrorCode.NOT_COORDINATOR, message)
        raise ApiError(ErrorCode.NOT_COORDINATOR, f"this node does not lead {self._name}-{partition}")

    def require_led(self, partition: int) -> None:
        """COORDINATOR_NOT_AVAILABLE if nobody serves a partition of which the metadata says that we lead it."""
        if partition not in self._active and partition not in self._loads:
            reason = self._failures.get(partition, "its disk has failed")
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self._name}-{partition} cannot be served: {reason}")

    def all_active(self) -> list[ActiveT]:
        """Every shard that is served now."""
        return [active for active, _ in self._active.values()]

    @property
    def is_loading(self) -> bool:
        """Whether some shard is still to come."""
        return bool(self._loads)

    async def for_each(self, purpose: str, work: Callable[[ActiveT], Awaitable[None]]) -> None:
        """Does something with every shard, one after the other; one that fails does not keep the others from it."""
        for active in self.all_active():
            try:
                await work(active)
            except ApiError as error:
                logger.warning("%s: %s failed for one partition: %s", self._name, purpose, error)
            except Exception:
                logger.exception("%s: %s failed for one partition", self._name, purpose)

    # -- loading ------------------------------------------------------------------------------------------------------

    def _begin_load(self, partition: int) -> None:
        has_read = asyncio.Event()
        task = self._tasks.start_background(
            f"load of {self._name}-{partition}", self._load_in_background(partition, self._epochs[partition], has_read)
        )
        # Also if it fails, or never begins because the node stops.
        task.add_done_callback(lambda _: has_read.set())
        self._loads[partition] = _Load(task, has_read)

    async def _load_in_background(self, partition: int, leader_epoch: int, has_read: asyncio.Event) -> None:
        loaded: LoadedT | None = None
        failure = ""
        try:
            await self._log.wait_settled(partition, leader_epoch)
            loaded = await asyncio.to_thread(lambda: self._load(partition, self._log.read_batches(partition)))
            has_read.set()
            await self._log.wait_all_committed(partition, leader_epoch)
        except (ApiError, OSError) as error:
            loaded, failure = None, str(error)
        except Exception as error:
            # Whatever it is, its clients must not wait for ever.
            logger.exception("%s-%d cannot be loaded", self._name, partition)
            loaded, failure = None, repr(error)
        load = self._loads.get(partition)
        if load is None or load.task is not asyncio.current_task():
            # The leadership has gone meanwhile, and maybe come again.
            return
        del self._loads[partition]
        if loaded is None:
            if self._failures.get(partition) != failure:
                logger.error("%s-%d cannot be loaded: %s", self._name, partition, failure)
            self._failures[partition] = failure
            name = f"another load of {self._name}-{partition}"
            self._tasks.start_background(name, self._load_again(partition, leader_epoch))
        else:
            self._failures.pop(partition, None)
            self._loaded_sizes.append(len(loaded))
            self._put_to_work(partition, loaded)
        if not self._loads:
            self._tell_loaded()

    async def _load_again(self, partition: int, leader_epoch: int) -> None:
        await asyncio.sleep(_LOAD_AGAIN_S)
        is_still_failed = partition in self._failures and partition not in self._loads
        if is_still_failed and self._epochs[partition] == leader_epoch:
            self._begin_load(partition)

    def _put_to_work(self, partition: int, loaded: LoadedT) -> None:
        writes = ShardWrites(
            self._log,
            self._name,
            partition,
            self._epochs[partition],
            self._tasks,
            self._commit_timeout_ms,
            lambda: self.reload(partition),
        )
        self._active[partition] = self._activate(loaded, writes), writes

    def _tell_loaded(self) -> None:
        sizes, self._loaded_sizes = self._loaded_sizes, []
        if sizes:
            logger.info("%s is loaded: %d partitions with %d %s", self._name, len(sizes), sum(sizes), self._contents)
