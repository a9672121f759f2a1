"""Counts connections that were closed because of what their peers did, without flooding the log.

An attack may cause thousands of them in a second. The first of each kind is logged with its reason; those that follow
within INTERVAL_SECONDS are logged as one number when that time is over, and so on until an interval passes without any.
What looks like a mistake and not like an attack is logged by address, as long as there are few addresses.
"""

import asyncio
import logging
from collections import Counter

logger = logging.getLogger("ottla.broker.network.rejections")

INTERVAL_SECONDS = 60
# Up to this many addresses are logged separately; beyond that, a kind is logged as a whole.
ADDRESSES_MAX = 100


class Rejections:
    """How many connections were closed, by kind, since the node started."""

    __slots__ = ("_further", "counts")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        # For each subject that was logged recently, how many followed since then.
        self._further: dict[str, int] = {}

    def note(self, kind: str, client_host: str, reason: object, *, by_address: bool = False) -> None:
        """Counts a connection that is being closed, and logs it if it is the first of its kind."""
        self.counts[kind] += 1
        subject = kind.replace("_", " ")
        own_subject = f"{subject} from {client_host}"
        if by_address and (own_subject in self._further or len(self._further) < ADDRESSES_MAX):
            subject = own_subject
        if subject in self._further:
            self._further[subject] += 1
            return
        logger.warning("Closing the connection from %s: %s", client_host, reason)
        self._start_interval(subject)

    def _start_interval(self, subject: str) -> None:
        self._further[subject] = 0
        asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._log_count, subject)

    def _log_count(self, subject: str) -> None:
        further = self._further.pop(subject)
        if further:
            logger.warning("%d further connections were closed within %d s: %s", further, INTERVAL_SECONDS, subject)
            self._start_interval(subject)
