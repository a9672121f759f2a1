"""Who waits for a partition, and for what.

A watcher is called with the number of bytes that became readable for it, and with 0 when something else changes: the
leader, its epoch, the first offset. Watchers are told in the order in which they came: whoever has waited longest is
told first. One may come or go while others are told.
"""

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

Watcher: TypeAlias = "Callable[[int], None]"
# For followers: the high watermark moved, which is worth a line in their next answer, but no answer of its own.
NOT_URGENT = -1


class Interest(Enum):
    """What a watcher wants to hear of."""

    # Consumers read what is below the high watermark.
    VISIBLE = "visible"
    # Consumers of committed transactions read what is below the last stable offset.
    STABLE = "stable"
    # Followers read to the end of the log.
    APPENDED = "appended"


class Watchers:
    """The watchers of one partition."""

    __slots__ = ("_by_interest", "_of_appended", "_of_stable", "_of_visible")

    def __init__(self) -> None:
        self._of_visible: dict[Watcher, None] = {}
        self._of_stable: dict[Watcher, None] = {}
        self._of_appended: dict[Watcher, None] = {}
        self._by_interest = {
            Interest.VISIBLE: self._of_visible,
            Interest.STABLE: self._of_stable,
            Interest.APPENDED: self._of_appended,
        }

    def __len__(self) -> int:
        return sum(map(len, self._by_interest.values()))

    def add(self, watcher: Watcher, interest: Interest) -> None:
        self._by_interest[interest][watcher] = None

    def remove(self, watcher: Watcher) -> None:
        for watchers in self._by_interest.values():
            watchers.pop(watcher, None)

    @property
    def wait_for_stable(self) -> bool:
        """Whether somebody waits for transactions to end."""
        return bool(self._of_stable)

    def wake_all(self) -> None:
        """Something else than data has changed: everybody looks again."""
        for watchers in self._by_interest.values():
            _tell(watchers, 0)

    def appended(self, size_bytes: int) -> None:
        """Bytes were appended."""
        if self._of_appended:
            _tell(self._of_appended, size_bytes)

    def committed(self, readable_bytes: int) -> None:
        """The high watermark has passed this many bytes."""
        if self._of_visible:
            # Never 0, which would mean that something else than data moved.
            _tell(self._of_visible, max(readable_bytes, 1))
        if self._of_appended:
            _tell(self._of_appended, NOT_URGENT)

    def stabilised(self, readable_bytes: int) -> None:
        """The last stable offset has passed this many bytes, or less."""
        if self._of_stable:
            _tell(self._of_stable, max(readable_bytes, 1))


def _tell(watchers: dict[Watcher, None], readable_bytes: int) -> None:
    for watcher in tuple(watchers):
        watcher(readable_bytes)
