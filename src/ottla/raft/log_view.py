"""What the state machine knows of its log without reading it: bounds, epochs and the latest snapshot.

The view runs ahead of the disk: it changes when `step` decides, the disk follows when the Ready is persisted. Records
themselves stay with the shell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ottla.raft.batch import Batch
from ottla.raft.epochs import EpochHistory, OffsetAndEpoch


class Agreement(Enum):
    VALID = "valid"
    DIVERGING = "diverging"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class Validation:
    agreement: Agreement
    position: OffsetAndEpoch


@dataclass(slots=True)
class LogView:
    start_offset: int = 0
    end_offset: int = 0
    epochs: EpochHistory = field(default_factory=EpochHistory)
    snapshot: OffsetAndEpoch | None = None

    @property
    def last_epoch(self) -> int:
        last = self.epochs.last_epoch
        if last is not None:
            return last
        return self.snapshot.epoch if self.snapshot else 0

    @property
    def end(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(self.end_offset, self.last_epoch)

    def append(self, batch: Batch) -> None:
        if batch.base_offset != self.end_offset:
            raise ValueError(f"batch at {batch.base_offset} does not continue a log that ends at {self.end_offset}")
        self.epochs.assign(batch.epoch, batch.base_offset)
        self.end_offset = batch.end_offset

    def truncate_to(self, offset: int) -> None:
        if offset < self.start_offset:
            raise ValueError(f"cannot truncate to {offset}, the log starts at {self.start_offset}")
        self.epochs.truncate_to(offset)
        self.end_offset = min(self.end_offset, offset)

    def reset_to(self, snapshot: OffsetAndEpoch) -> None:
        """The log is replaced by a snapshot: empty, starting where the snapshot ends."""
        self.start_offset = snapshot.offset
        self.end_offset = snapshot.offset
        self.epochs = EpochHistory()
        self.snapshot = snapshot

    def move_start(self, offset: int) -> None:
        if self.snapshot is None or offset > self.snapshot.offset:
            raise ValueError(f"no snapshot covers the records before {offset}")
        self.epochs.drop_before(offset)
        self.start_offset = max(self.start_offset, offset)

    def validate(self, offset: int, epoch: int) -> Validation:
        """Does a log that ends at (`offset`, `epoch`) agree with this one, and if not, up to where?"""
        asked = OffsetAndEpoch(offset, epoch)
        if self.start_offset == 0 and offset == 0 and epoch == 0:
            if self.snapshot is not None and self.snapshot.offset > 0:
                # An empty log gets there sooner by the snapshot than by all the records that it stands for.
                return Validation(Agreement.SNAPSHOT, self.snapshot)
            return Validation(Agreement.VALID, asked)
        if self.snapshot is not None and (offset < self.start_offset or asked == self.snapshot):
            matches = asked == self.snapshot and offset >= self.start_offset
            return Validation(Agreement.VALID, asked) if matches else Validation(Agreement.SNAPSHOT, self.snapshot)
        known = self.epochs.end_of(epoch, self.end_offset)
        if known is None:
            if self.snapshot is not None and self.start_offset > 0:
                return Validation(Agreement.SNAPSHOT, self.snapshot)
            return Validation(Agreement.DIVERGING, OffsetAndEpoch(self.start_offset, 0))
        known_epoch, end_offset = known
        if known_epoch != epoch or end_offset < offset:
            return Validation(Agreement.DIVERGING, OffsetAndEpoch(end_offset, known_epoch))
        return Validation(Agreement.VALID, asked)

    def common_end_with(self, diverging: OffsetAndEpoch) -> int:
        """Where to cut this log, given that the leader's log of `diverging.epoch` ends at `diverging.offset`."""
        known = self.epochs.end_of(diverging.epoch, self.end_offset)
        if known is None:
            return self.start_offset
        known_epoch, end_offset = known
        return min(end_offset, diverging.offset) if known_epoch == diverging.epoch else end_offset
