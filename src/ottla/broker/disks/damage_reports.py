"""Logs each damaged batch that a reader meets, once.

A consumer that meets one fetches it again and again, and says so only in its own log. The operator of the node has to
know too, since the disk is to blame. All reading threads share one object; after a restart, damage is reported again
when a reader meets it.
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

# A bad disk may have millions of damaged batches; then some are reported twice.
TOLD_MAX: Final = 1000


_Place = tuple[Path, int | tuple[int | None, str]]


class DamageReports:
    """The damage that was reported so far."""

    def __init__(self) -> None:
        # The file or directory, and the place in it: the position if it is known, else the requested offset and the
        # reason.
        self._told: set[_Place] = set()
        self._lock = threading.Lock()

    def note(self, partition: Partition, offset: int | None, error: CorruptRecords) -> None:
        """Reports damage that a reader met at an offset, or in a search by time."""
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
