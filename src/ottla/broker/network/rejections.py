"""Connections that were closed because of what their peers did: counted all, told in the log without flooding it.

An attack is thousands of them in a second. Of each kind the first is told, with its reason; those that follow within
INTERVAL_SECONDS are told as one number when that time is over, and so on until there is a time without any.
"""

import asyncio
import logging
from collections import Counter

logger = logging.getLogger("ottla.broker.network.rejections")

INTERVAL_SECONDS = 60


class Rejections:
    """How many connections were closed, by kind, since the node started."""

    __slots__ = ("_told_count", "counts")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        # Of the kinds that were told lately: how many there were when the log last heard of them.
        self._told_count: dict[str, int] = {}

    def note(self, kind: str, client_host: str, reason: object) -> None:
        """Counts a connection that is closed now."""
        self.counts[kind] += 1
        if kind not in self._told_count:
            logger.warning("Closing the connection from %s: %s", client_host, reason)
            self._rest(kind)

    def _rest(self, kind: str) -> None:
        self._told_count[kind] = self.counts[kind]
        asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._tell_count, kind)

    def _tell_count(self, kind: str) -> None:
        further = self.counts[kind] - self._told_count.pop(kind)
        if further:
            logger.warning(
                "%d further connections were closed within %d s: %s", further, INTERVAL_SECONDS, kind.replace("_", " ")
            )
            self._rest(kind)
