"""The queue of a disk that must not hold up the others, as a partition sees it.

Whatever changes a log of such a disk goes through its queue, in the order of the calls: a leader's and a follower's
appends, truncation, the beginning of a leader epoch.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ottla.protocol.schema import Records

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Appending(Protocol[T_co]):
    """A change of the log that waits for its turn in the queue of a disk."""

    async def result(self, deadline: float) -> T_co:
        """The outcome; ApiError if it failed, or is not known at the deadline."""

    def let_go(self) -> None:
        """The caller that put it there will not wait for it."""


class AppendQueue(Protocol):
    """Appends to the logs of a directory whose disk must not hold up the others."""

    def put(
        self,
        work: Callable[[Records], T],
        records: Records,
        settle: Callable[[T], None],
        *,
        is_own: bool = False,
    ) -> Appending[T]:
        """Calls `work` with the records, in turn, where it may wait; then gives the outcome to `settle`.

        The broker's own batches do not wait for room: REQUEST_TIMED_OUT if too many of them are in the queue.
        """
