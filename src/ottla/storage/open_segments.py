"""Which sealed segments of a log keep their file open and their indexes in memory: the few that were used last.

A log may have thousands of segments, of which consumers read one or two. A segment is noted when it is sealed and when
it is read; then the one noted longest ago is unloaded. The active segment never is: entries of its indexes may be in
memory alone. A truncation can make a sealed segment the active one again, while readers still take it for sealed.
"""

import threading

from ottla.storage.segment import Segment

_MAX_SEALED = 4


class OpenSegments:
    """The open segments of one log; threads share it."""

    __slots__ = ("_active", "_lock", "_sealed")

    def __init__(self, active: Segment) -> None:
        self._active = active
        self._sealed: list[Segment] = []
        self._lock = threading.Lock()

    def activate(self, segment: Segment) -> None:
        """A segment grows from now on, and stays in memory."""
        with self._lock:
            self._active = segment
            if segment in self._sealed:
                self._sealed.remove(segment)

    def note(self, segment: Segment) -> None:
        """A segment was sealed, or a sealed one read."""
        if segment in self._sealed:
            return
        with self._lock:
            if segment is self._active or segment in self._sealed:
                return
            self._sealed.append(segment)
            if len(self._sealed) > _MAX_SEALED:
                self._sealed.pop(0).unload()
