"""What a broker and its cleaner process tell each other, beside the segments and the end of a pass.

The broker begins a job; the worker answers with each new segment and waits to be told to go on, until the end of the
pass or its failure. Meanwhile it reports progress and is told of new rates. No message stops it: the broker ends the
process, and the process ends itself when the broker is gone.
"""

from dataclasses import dataclass
from enum import Enum

from ottla.storage.cleaning.job import CleaningJob


@dataclass(frozen=True, slots=True)
class Begin:
    """A job, and the bytes per second that it may move."""

    job: CleaningJob
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class SetRate:
    """The bytes per second from now on."""

    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class GoOn:
    """The new segment has been put in place, or refused."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The worker is alive and makes progress."""


class FailureKind(Enum):
    """Why a pass did not finish: whose fault it was."""

    DISK_FULL = "disk full"
    DISK = "disk"
    RECORDS = "records"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class PassFailure:
    """A pass that ended early; the worker is ready for another."""

    kind: FailureKind
    message: str
