"""Which partitions of a coordinator's topic this node leads, and the shard that serves each of them.

A partition that is gained is loaded in the background (COORDINATOR_LOAD_IN_PROGRESS meanwhile), one that is lost is
dropped at once (NOT_COORDINATOR), also if it went with its disk. One that cannot be read is not served at all: its keys
would seem to have no state.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sized
from typing import Generic, Protocol, TypeVar

from ottla.broker.coordinators.log import CoordinatorLog
from ottla.broker.tasks import Tasks
from ottla.protocol.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)


class Closable(Protocol):
    """A shard at work."""

    def close(self) -> None:
        """Leadership is gone."""


LoadedT = TypeVar("LoadedT", bound=Sized)
ActiveT = TypeVar("ActiveT", bound=Closable)


class ShardLeadership(Generic[LoadedT, ActiveT]):
    """The shards of one coordinator, by partition."""

    def __init__(
        self,
        topic: str,
        contents: str,
        log: CoordinatorLog,
        tasks: Tasks,
        load: Callable[[int, Iterator[memoryview]], LoadedT],
        activate: Callable[[int, int, LoadedT], ActiveT],
    ) -> None:
        """`load` reads a partition's log, in a thread; `activate` puts what came of it to work, in a leader epoch.

        `contents` says of what a loaded partition has so and so many.
        """
        self._topic = topic
        self._contents = contents
        self._log = log
        self._tasks = tasks
        self._load = load
        self._activate = activate
        # None while the partition is being loaded.
        self._shards: dict[int, ActiveT | None] = {}
        self._loads: dict[int, asyncio.Task[None]] = {}
        self._epochs: dict[int, int] = {}
        # Sizes of what was loaded since the last time that all was: most nodes have fifty small partitions, which are
        # worth one line in the log and not one each.
        self._loaded_sizes: list[int] = []

    def become_leader(self, partition: int, leader_epoch: int) -> None:
        """This node now leads the partition: load it. One that is already led in this epoch is left as it is."""
        if partition in self._shards:
            if self._epochs[partition] == leader_epoch:
                return
            self.resign(partition)
        self._epochs[partition] = leader_epoch
        if self._log.is_empty(partition):
            # Nothing to read: the first user of a new cluster need not be told to come again.
            self._shards[partition] = self._activate(partition, leader_epoch, self._load(partition, iter(())))
            return
        self._begin_load(partition)

    def reload(self, partition: int) -> None:
        """Begin anew with what the log has."""
        self.resign(partition)
        self._begin_load(partition)

    def resign(self, partition: int) -> None:
        """This node no longer leads the partition; a load that still runs ends without effect."""
        self._loads.pop(partition, None)
        active = self._shards.pop(partition, None)
        if active is not None:
            active.close()

    def resign_all(self) -> None:
        """The topic is gone, or the node is about to be."""
        for partition in list(self._shards):
            self.resign(partition)

    async def loaded(self) -> None:
        """Return once every partition that is led has been loaded."""
        await asyncio.gather(*self._loads.values(), return_exceptions=True)

    def active(self, partition: int) -> ActiveT:
        """The shard of a partition; ApiError if it is not served here, or not yet."""
        active = self._shards.get(partition)
        if active is not None:
            return active
        if partition in self._shards:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self._topic}-{partition} is being loaded")
        raise ApiError(ErrorCode.NOT_COORDINATOR, f"this node does not lead {self._topic}-{partition}")

    def require_led(self, partition: int) -> None:
        """COORDINATOR_NOT_AVAILABLE if nobody serves a partition of which the metadata says that we lead it."""
        if partition not in self._shards:
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"{self._topic}-{partition} cannot be served; the log of the node has the reason",
            )

    def all_active(self) -> list[ActiveT]:
        """Every shard that is served now."""
        return [active for active in self._shards.values() if active is not None]

    @property
    def is_loading(self) -> bool:
        """Whether some shard is still to come."""
        return None in self._shards.values()

    def _begin_load(self, partition: int) -> None:
        self._shards[partition] = None
        self._loads[partition] = self._tasks.start_background(
            f"load of {self._topic}-{partition}", self._load_in_thread(partition)
        )

    async def _load_in_thread(self, partition: int) -> None:
        loaded: LoadedT | None = None
        try:
            await self._log.settled(partition)
            loaded = await asyncio.to_thread(lambda: self._load(partition, self._log.read_batches(partition)))
        except (ApiError, OSError) as error:
            logger.error("%s-%d cannot be loaded: %s", self._topic, partition, error)
        except Exception:
            # Whatever it is, its clients must not wait for ever.
            logger.exception("%s-%d cannot be loaded", self._topic, partition)
        if self._loads.get(partition) is not asyncio.current_task():
            return
        del self._loads[partition]
        if loaded is None:
            del self._shards[partition]
        else:
            self._loaded_sizes.append(len(loaded))
            self._shards[partition] = self._activate(partition, self._epochs[partition], loaded)
        if not self._loads:
            self._tell_loaded()

    def _tell_loaded(self) -> None:
        sizes, self._loaded_sizes = self._loaded_sizes, []
        if sizes:
            logger.info("%s is loaded: %d partitions with %d %s", self._topic, len(sizes), sum(sizes), self._contents)
