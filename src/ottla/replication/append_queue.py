"""The queue of a disk that must not hold up the others, as a partition sees it.

Whatever changes a log of such a disk goes through its queue: a leader's and a follower's appends, truncation, the
beginning of a leader epoch. The queue may hold appends back while too much waits for the disk; barriers and the
broker's own batches pass those. So when the turn of an append comes, a later leader epoch may have begun: whoever put
it there looks, and refuses it then.
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

    def barrier(self, work: Callable[[], T], settle: Callable[[T], None]) -> None:
        """Calls `work`, then `settle`, after everything that is neither held back nor done.

        It is never held back itself, and never refused, however much waits: a leader epoch begins with it.
        """
