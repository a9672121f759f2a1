"""What is found at the end, and what of it had been promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.operations import ProducerKind, Value


class RecordState(Enum):
    """What became of the transaction of a record in the log."""

    PLAIN = "not transactional"
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"

    @property
    def is_visible(self) -> bool:
        """Whether readers of committed records see it."""
        return self in (RecordState.PLAIN, RecordState.COMMITTED)


class FinalRecord(NamedTuple):
    """A record of a log."""

    offset: int
    value: Value
    state: RecordState = RecordState.PLAIN


@dataclass(frozen=True, slots=True)
class FinalLog:
    """A partition as it was read at the end, with what is not visible to readers of committed records.

    Records below `start_offset` were deleted by retention. Compacted topics are not meant: they may drop any value.
    """

    partition: TopicPartition
    start_offset: int
    end_offset: int
    records: tuple[FinalRecord, ...]


@dataclass(frozen=True, slots=True)
class FinalCopy:
    """What a group that consumes and produces in transactions has done, read when none of them is under way any more.

    Each record that it wrote names the record that it read.
    """

    group: str
    # By partition of the source: the group's committed offset, None if there is none.
    offsets: Mapping[TopicPartition, int | None]
    # By partition of the target: the values of the source that readers of committed records find copied there.
    copied: Mapping[TopicPartition, Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a partition keeps of that which was acknowledged, after all that was done to its replicas.

    The default promises everything. A leader that dies may take acks=1 with it. A power cut beyond the tolerance takes
    what was not flushed, acks=all too: only offsets below `flushed_offset` stay as they were.
    """

    keeps_acks_all: bool = True
    keeps_acks_1: bool = True
    flushed_offset: int = 0

    def keeps(self, kind: ProducerKind, offset: int | None) -> bool:
        """Whether a record that a producer was told to be at an offset must stay."""
        if offset is not None and offset < self.flushed_offset:
            return True
        return self.keeps_acks_all and (self.keeps_acks_1 or kind is not ProducerKind.ACKS_1)

    def keeps_reads(self, offset: int) -> bool:
        """Whether a record that was read at an offset must stay: it was replicated, whatever its producer asked for."""
        return self.keeps_acks_all or offset < self.flushed_offset


DURABLE: Final = Promise()
