"""Decisions in flight on the active controller.

A decision is made on the image that results from all earlier decisions, durable or not, so two that arrive together
cannot contradict each other. It is answered when it is committed. When leadership or the disk is lost, the decisions in
flight fail: their records may or may not survive, as with any request that times out.

A decision that must be whole (`Decision.is_atomic`) is one batch, and is refused if it is larger than a batch may be.
Any other is cut into batches, by the number of records and by their bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from ottla.broker.quorum.metadata_log import BatchTooLarge
from ottla.broker.quorum.offset_waiters import OffsetWaiters
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, apply_records
from ottla.protocol.schema import Message

T = TypeVar("T")

# Kafka's bound for a batch of a decision that need not be whole: a follower fetches it in one piece.
RECORDS_PER_BATCH = 10_000


class ActiveController:
    """Exists while this node leads an epoch and has caught up with its own log."""

    def __init__(self, image: ClusterImage, epoch: int, append: Callable[[Sequence[Message]], int]) -> None:
        # Those who only follow the log do not need the index, nor pay for it.
        self.pending = image.indexed()
        self.epoch = epoch
        self._append = append
        self._waiters = OffsetWaiters(image.end_offset)

    def decide(self, decide: Callable[[ClusterImage], Decision[T]]) -> tuple[T, int]:
        """Make a decision and write it; returns its response, and the offset that must be committed before it is
        sent."""
        decision = decide(self.pending)
        records = decision.records
        if decision.is_atomic and records:
            self.write(records)
        elif not decision.is_atomic:
            for start in range(0, len(records), RECORDS_PER_BATCH):
                self._write_in_parts(records[start : start + RECORDS_PER_BATCH])
        return decision.response, self.pending.end_offset

    def _write_in_parts(self, records: Sequence[Message]) -> None:
        try:
            self.write(records)
        except BatchTooLarge:
            if len(records) == 1:
                raise
            # It hardly ever happens, so nobody counts the bytes beforehand.
            half = len(records) // 2
            self._write_in_parts(records[:half])
            self._write_in_parts(records[half:])

    def write(self, records: Sequence[Message]) -> None:
        base_offset = self.pending.end_offset
        # Apply before the append: records that make no sense must fail here, not after they are durable.
        pending, _ = apply_records(self.pending, records, end_offset=base_offset + len(records), epoch=self.epoch)
        appended = self._append(records)
        assert appended == base_offset, f"decided for offset {base_offset}, written at {appended}"
        self.pending = pending

    def until(self, end_offset: int) -> asyncio.Future[None]:
        """Done when everything before this offset is committed."""
        return self._waiters.until(end_offset)

    def committed(self, end_offset: int) -> None:
        self._waiters.reached(end_offset)

    def abandon(self, error: Exception) -> None:
        self._waiters.abandon(error)
