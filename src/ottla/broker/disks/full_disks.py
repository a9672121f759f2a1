"""A broker whose log directories are all full steps aside until there is space again.

It asks the controller to fence it, with its heartbeats (KIP-631). Others lead its partitions at once, and do not wait
for it as a follower. Meanwhile it turns clients away: its metadata may be on the same disk, so it cannot tell them who
leads now, and some ask nobody else as long as they are served. It keeps running, fetches as soon as it can write, and
returns to the in-sync sets by itself. Kafka gives a full directory up, and ends the process with the last one.

A broker that nobody can replace stays, refuses writes and serves reads: if no other is there, or if it is the last
in-sync replica of a partition that has several. Partitions of one replica do not count, or one of them would keep all
others from being written.

Nothing of this survives a restart: a disk that is still full shows with the next write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ottla.broker.disks.volumes import Volumes
from ottla.broker.host import VolumeSpace
from ottla.metadata.image import ClusterImage

logger = logging.getLogger("ottla.broker.disks")

# A disk counts as full for so long after the last write that it refused, whatever it says of its space: with quotas,
# or for larger writes, it may refuse the next one as well.
_FULL_FOR_S: Final = 10.0
_SPACE_BYTES: Final = 1024**3


class FullDisks:
    """Which directories of one broker are full, and what follows from that."""

    def __init__(
        self,
        broker_id: int,
        volumes: Volumes,
        *,
        image: Callable[[], ClusterImage],
        online: Callable[[], list[Path]],
        step_aside: Callable[[bool], None],
    ) -> None:
        """`online` are the directories that have not failed. `step_aside` tells the controller whether to fence this
        broker."""
        self._broker_id = broker_id
        self._volumes = volumes
        self._image = image
        self._online = online
        self._step_aside = step_aside
        # When each refused a write last.
        self._refused_s: dict[Path, float] = {}
        self._is_aside = False
        # A broker that starts has to be unfenced first.
        self._is_started = False

    def note(self, path: Path) -> None:
        """A directory had no space for a write."""
        is_new = path not in self._refused_s
        self._refused_s[path] = asyncio.get_running_loop().time()
        if is_new and self._is_started:
            self._decide()

    async def look(self) -> None:
        """Finds out where there is space again. To be called now and then, once the broker serves."""
        self._is_started = True
        now_s = asyncio.get_running_loop().time()
        for path, refused_s in list(self._refused_s.items()):
            if now_s - refused_s < _FULL_FOR_S or self._refused_s.get(path) != refused_s:
                continue
            space = await self._volumes.ask(path)
            if space is not None and has_space(space) and self._refused_s.get(path) == refused_s:
                del self._refused_s[path]
        if self._refused_s or self._is_aside:
            self._decide()

    def _decide(self) -> None:
        online = self._online()
        is_full = bool(online) and all(path in self._refused_s for path in online)
        is_aside = is_full and can_be_spared(self._image(), self._broker_id)
        if is_aside is self._is_aside:
            return
        self._is_aside = is_aside
        if is_aside:
            logger.warning(
                "The broker steps aside until there is space: others lead its partitions, clients are turned away. No "
                "space left in %s",
                ", ".join(map(str, online)),
            )
        else:
            logger.info("The broker returns%s", ": nobody else can take its place" if is_full else ": there is space")
        self._step_aside(is_aside)


def has_space(space: VolumeSpace) -> bool:
    """Whether a disk that was full can take enough again to be worth a return."""
    return space.usable_bytes >= min(_SPACE_BYTES, space.total_bytes // 20)


def can_be_spared(image: ClusterImage, broker_id: int) -> bool:
    """Whether the cluster gains from fencing a broker that cannot write."""
    if not any(broker.id != broker_id and broker.is_active for broker in image.brokers):
        return False
    states = (state for topic in image.topics for state in topic.partitions.values())
    return not any(len(state.replicas) > 1 and state.isr == (broker_id,) for state in states)
