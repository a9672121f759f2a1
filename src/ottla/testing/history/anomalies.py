"""What can be wrong with a history, and with the run that it comes from."""

from dataclasses import dataclass
from enum import Enum


class AnomalyKind(Enum):
    """What a correct cluster never lets a client see; the last ones are told by whoever runs it, not by `check`."""

    LOST_WRITE = "lost write"
    DUPLICATE = "duplicate"
    REORDERED = "reordered"
    PHANTOM = "phantom"
    TORN_TRANSACTION = "torn transaction"
    INCONSISTENT_OFFSET = "inconsistent offset"
    VANISHED_READ = "vanished read"
    POLL_SKIP = "poll skip"
    NONMONOTONIC_POLL = "nonmonotonic poll"
    END_OFFSET_WENT_BACK = "end offset went back"
    COMMITTED_OFFSET_WENT_BACK = "committed offset went back"
    PHANTOM_COMMITTED_OFFSET = "phantom committed offset"
    TWO_OWNERS = "two owners"
    COPY_SKIP = "copy skip"
    COPY_AHEAD = "copy ahead"
    STALE_KEY = "stale key"
    LOST_CHANGE = "lost change"
    UNDONE_DELETION = "undone deletion"
    LOG_START_WENT_BACK = "log start went back"
    NO_PROGRESS = "no progress"
    BROKEN_INVARIANT = "broken invariant"
    NODE_ERROR = "error of a node"
    NOT_REPEATABLE = "not repeatable"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly, with a sentence that names the operations that show it."""

    kind: AnomalyKind
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.sentence}"
