"""Damaged batches that readers met: the node's log tells of each once.

A consumer that meets one asks for it again and again, and only its own log says so. Whoever runs the node has to know
as well, since it is the disk that is to blame. Threads that read share this; nothing of it survives a restart, after
which each is told of again when it is met.
"""

import logging
import threading
from bisect import bisect_right
from pathlib import Path
from typing import Final

from ottla.protocol.records import CorruptRecords
from ottla.replication.partition import Partition
from ottla.storage.errors import DamagedBatch

logger = logging.getLogger("ottla.broker.damage")

# A rotten disk may have millions of them; then some are told of twice.
TOLD_MAX: Final = 1000


_Place = tuple[Path, int | tuple[int | None, str]]


class DamageReports:
    """What was told of so far."""

    def __init__(self) -> None:
        # The file or directory, and where in it: a position if that is known, else the offset asked for and the reason.
        self._told: set[_Place] = set()
        self._lock = threading.Lock()

    def note(self, partition: Partition, offset: int | None, error: CorruptRecords) -> None:
        """A reader that asked for an offset, or searched by time, met damage."""
        directory = partition.log.directory
        key: _Place
        if isinstance(error, DamagedBatch):
            # The directory may have moved since the file was opened.
            path = directory / error.path.name
            key, place = (path, error.position), f"{path}, position {error.position}"
        else:
            path = directory if offset is None else _file_of(partition, offset)
            key, place = (path, (offset, error.message)), str(path)
        with self._lock:
            if key in self._told:
                return
            if len(self._told) >= TOLD_MAX:
                self._told.clear()
            self._told.add(key)
        topic, index = partition.topic, partition.index
        logger.error(
            "%s-%d is damaged%s: %s (%s). Readers get CORRUPT_MESSAGE there. `ottla log verify %s` shows the extent. "
            "Stop the node and restore the file from a copy; or give up all records before an offset past the damage: "
            "`ottla records delete %s:%d --before OFFSET --execute`",
            topic,
            index,
            "" if offset is None else f" where offset {offset} is read",
            error.message,
            place,
            directory,
            topic,
            index,
        )


def _file_of(partition: Partition, offset: int) -> Path:
    segments = partition.log.segments
    number = bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1
    return segments[max(number, 0)].path
