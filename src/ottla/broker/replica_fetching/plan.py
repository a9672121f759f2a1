"""Which of its partitions a fetcher has to look at before its next fetch.

Pure. A partition that a fetcher follows is in one of these states:

    at rest    the leader's session knows what to ask for; nothing is to be done until an answer names it
    due        its position may have changed: look at it before the next fetch
    delayed    it was refused, or is not ready: look at it later. The delay doubles from failure to failure, up to
               replica.fetch.backoff.ms, so that a leader that learns of its leadership a moment later is not asked a
               whole second later. An answer without an error ends the row of failures
    held       a change of its log is under way: left out until that is done
    failed     something went wrong that asking again will not cure: left out until the metadata changes

So a round of a fetcher costs what happened since the last one, not the number of its partitions.
"""

from ottla.protocol.topic_partition import TopicIdPartition

FIRST_DELAY_MS = 50


class Backoff:
    """Delays that double from failure to failure."""

    __slots__ = ("_failures", "_max_ms")

    def __init__(self, max_ms: int) -> None:
        self._max_ms = max_ms
        self._failures = 0

    def next_ms(self) -> int:
        """How long to wait after one more failure."""
        delay_ms = min(FIRST_DELAY_MS << min(self._failures, 20), self._max_ms)
        self._failures += 1
        return delay_ms

    @property
    def is_first(self) -> bool:
        """Whether there has been one failure at most, since it last went well: worth a line in the log."""
        return self._failures <= 1

    def reset(self) -> None:
        self._failures = 0


class FetchPlan:
    """The partitions of one fetcher."""

    __slots__ = ("_backoff_max_ms", "_backoffs", "_delayed", "_due", "_failed", "_held", "_partitions")

    def __init__(self, backoff_max_ms: int) -> None:
        self._backoff_max_ms = backoff_max_ms
        # Dicts for their order: a run that is repeated looks at partitions in the same order.
        self._partitions: dict[TopicIdPartition, None] = {}
        self._due: dict[TopicIdPartition, None] = {}
        self._delayed: dict[TopicIdPartition, int] = {}
        self._backoffs: dict[TopicIdPartition, Backoff] = {}
        self._held: set[TopicIdPartition] = set()
        self._failed: set[TopicIdPartition] = set()

    def __len__(self) -> int:
        return len(self._partitions)

    def __contains__(self, key: TopicIdPartition) -> bool:
        return key in self._partitions

    @property
    def failed_count(self) -> int:
        return len(self._failed)

    def add(self, key: TopicIdPartition) -> None:
        """The fetcher follows this partition too, or what the metadata says about it has changed."""
        self._partitions[key] = None
        self._failed.discard(key)
        self._delayed.pop(key, None)
        self._backoffs.pop(key, None)
        self._due[key] = None

    def remove(self, key: TopicIdPartition) -> None:
        """The fetcher does not follow it any more."""
        self._partitions.pop(key, None)
        self._due.pop(key, None)
        self._delayed.pop(key, None)
        self._backoffs.pop(key, None)
        self._held.discard(key)
        self._failed.discard(key)

    def take_due(self, now_ms: int) -> list[TopicIdPartition]:
        """The partitions to look at now."""
        for key in [key for key, until_ms in self._delayed.items() if until_ms <= now_ms]:
            del self._delayed[key]
            self._due[key] = None
        due = [key for key in self._due if key not in self._held]
        self._due = {key: None for key in self._due if key in self._held}
        return due

    def next_ms(self) -> int | None:
        """When the first delay ends."""
        return min(self._delayed.values(), default=None)

    def went_well(self, key: TopicIdPartition) -> None:
        """The leader has answered: look at it before the next fetch."""
        if key in self._partitions:
            self._backoffs.pop(key, None)
            self._due[key] = None

    def delay(self, key: TopicIdPartition, now_ms: int) -> bool:
        """It cannot be fetched now; whether that is news."""
        if key not in self._partitions:
            return False
        backoff = self._backoffs.setdefault(key, Backoff(self._backoff_max_ms))
        self._due.pop(key, None)
        self._delayed[key] = now_ms + backoff.next_ms()
        return backoff.is_first

    def hold(self, key: TopicIdPartition) -> None:
        """Its log is being changed."""
        self._held.add(key)

    def release(self, key: TopicIdPartition) -> None:
        """The change is over: look at it, unless it is delayed."""
        self._held.discard(key)
        if key in self._partitions and key not in self._delayed and key not in self._failed:
            self._due[key] = None

    def fail(self, key: TopicIdPartition) -> None:
        """It is left out until the metadata changes."""
        if key in self._partitions:
            self._failed.add(key)
            self._due.pop(key, None)
            self._delayed.pop(key, None)
