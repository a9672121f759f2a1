"""Connections that were closed because of what their peers did: counted all, told in the log without flooding it.

An attack is thousands of them in a second. Of each kind the first is told, with its reason; those that follow within
INTERVAL_SECONDS are told as one number when that time is over, and so on until there is a time without any. What is
rather a mistake than an attack is told so for each address, as long as these are few.
"""

import asyncio
import logging
from collections import Counter

logger = logging.getLogger("ottla.broker.network.rejections")

INTERVAL_SECONDS = 60
# Told one by one at a time; beyond it a kind is told as a whole.
ADDRESSES_MAX = 100


class Rejections:
    """How many connections were closed, by kind, since the node started."""

    __slots__ = ("_further", "counts")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        # Of what was told lately: how many came since the log last heard of it.
        self._further: dict[str, int] = {}

    def note(self, kind: str, client_host: str, reason: object, *, by_address: bool = False) -> None:
        """Counts a connection that is closed now."""
        self.counts[kind] += 1
        subject = kind.replace("_", " ")
        own_subject = f"{subject} from {client_host}"
        if by_address and (own_subject in self._further or len(self._further) < ADDRESSES_MAX):
            subject = own_subject
        if subject in self._further:
            self._further[subject] += 1
            return
        logger.warning("Closing the connection from %s: %s", client_host, reason)
        self._rest(subject)

    def _rest(self, subject: str) -> None:
        self._further[subject] = 0
        asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._tell_count, subject)

    def _tell_count(self, subject: str) -> None:
        further = self._further.pop(subject)
        if further:
            logger.warning("%d further connections were closed within %d s: %s", further, INTERVAL_SECONDS, subject)
            self._rest(subject)
