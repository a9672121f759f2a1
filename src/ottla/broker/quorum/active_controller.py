"""Decisions in flight on the active controller.

A decision is made on the image that results from all decisions before it, durable or not, so two that arrive together
cannot contradict each other. It is answered when the published image contains it. When leadership or the disk is lost,
the undecided fail: their records may or may not survive, as with any request that times out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, apply_records
from ottla.metadata.log_batches import MetadataBatch
from ottla.metadata.record_serde import encode_record
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.schema import Message

T = TypeVar("T")

# A decision is one batch. The bound is far above what a request can ask for; unfencing a broker of a hundred thousand
# partitions takes about a tenth of it.
MAX_DECISION_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Waiter:
    end_offset: int
    future: asyncio.Future[None]


class ActiveController:
    """Exists while this node leads and has caught up with its own log."""

    def __init__(self, image: ClusterImage, epoch: int, propose: Callable[[tuple[bytes, ...]], int]) -> None:
        self.pending = image
        self._epoch = epoch
        self._propose = propose
        self._reached_offset = image.end_offset
        self._waiters: deque[_Waiter] = deque()
        # Batches that were proposed and not yet applied; applying them needs no reading.
        self.unapplied: dict[int, MetadataBatch] = {}

    def decide(self, decide: Callable[[ClusterImage, int], Decision[T]], now_ms: int) -> tuple[T, int]:
        """Make a decision and write it; its response and the offset that the image must reach first."""
        decision = decide(self.pending, now_ms)
        if decision.records:
            self.write(decision.records, now_ms)
        return decision.response, self.pending.end_offset

    def write(self, records: Sequence[Message], now_ms: int) -> None:
        base_offset = self.pending.end_offset
        end_offset = base_offset + len(records)
        # Applied before it is proposed: records that make no sense must fail here, not after they are durable.
        pending, _ = apply_records(self.pending, records, end_offset=end_offset, epoch=self._epoch)
        values = tuple(encode_record(record) for record in records)
        size = sum(map(len, values))
        if size > MAX_DECISION_BYTES:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION,
                f"The operation needs {size} bytes of metadata, at most {MAX_DECISION_BYTES} can be written together; "
                f"split it into smaller requests",
            )
        proposed = self._propose(values)
        assert proposed == base_offset, f"decided for offset {base_offset}, written at {proposed}"
        self.pending = pending
        self.unapplied[base_offset] = MetadataBatch(base_offset, end_offset, self._epoch, now_ms, size, (), records)

    def until(self, end_offset: int) -> asyncio.Future[None]:
        """Done when the published image has reached an offset."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if end_offset <= self._reached_offset:
            future.set_result(None)
        else:
            self._waiters.append(_Waiter(end_offset, future))
        return future

    def reached(self, end_offset: int) -> None:
        self._reached_offset = end_offset
        while self._waiters and self._waiters[0].end_offset <= end_offset:
            future = self._waiters.popleft().future
            if not future.done():
                future.set_result(None)

    def abandon(self, error: Exception) -> None:
        for waiter in self._waiters:
            if not waiter.future.done():
                waiter.future.set_exception(error)
        self._waiters.clear()
