"""A partition that follows its leader in one leader epoch: `FollowerState` around a real log.

The fetcher brings the leader's answers and asks for the position to fetch from. What an answer means is decided in
`follower_state`; here it is carried out.

Guarantees
- One change of the log at a time. While one is under way there is no position, so nothing is asked for and no answer is
  taken. Whoever waits for a change that fails says so with `change_failed`.
- Appends happen at once, or in the queue of a disk that must not hold up the others. The log is cut in a thread or in
  that queue, never on the event loop.
- The log's watermark and start follow the leader's, the start never beyond the watermark.
- After `end`, nothing that is still under way touches watermark or log start: another epoch has begun, and maybe this
  broker leads it. What has not had its turn in the queue by then is not done at all; what has, ends before the next
  epoch begins in the log.

Nothing here survives a crash; the position comes back from the log and its epochs.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ottla.protocol.schema import Records
from ottla.replication.append_queue import Appending, AppendQueue
from ottla.replication.follower_state import (
    Discard,
    FetchPosition,
    FollowerState,
    LeaderAnswer,
    StartAnew,
    Step,
    Take,
    Truncate,
)
from ottla.storage.leader_epochs import EpochEnd
from ottla.storage.log import Log

logger = logging.getLogger("ottla.replication.following")

# A change that shortens the log; to be carried out with `cut`.
Cut: TypeAlias = Truncate | StartAnew


class Following:
    """One partition on a follower, in one leader epoch."""

    __slots__ = (
        "_is_changing",
        "_is_over",
        "_leader_start_offset",
        "_log",
        "_queue",
        "_state",
        "first_cut",
        "leader_epoch",
        "leader_id",
    )

    def __init__(self, leader_id: int, leader_epoch: int, log: Log, queue: AppendQueue | None) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self._log = log
        self._queue = queue
        self._state: FollowerState | None = None
        self._is_changing = False
        self._is_over = False
        self._leader_start_offset = 0
        # Without epochs in the log only what is committed can be trusted: this is to be cut before the first fetch.
        self.first_cut: Truncate | None = None
        if queue is None:
            self._begin()
        else:
            # After the append of the epoch before that may be under way. Those that wait will be refused.
            queue.barrier(_do_nothing, lambda _: self._begin())

    @property
    def position(self) -> FetchPosition | None:
        """What to ask the leader for; None while the log changes."""
        if self._state is None or self._is_changing or self._is_over or self.first_cut is not None:
            return None
        return self._state.position

    @property
    def log_start_offset(self) -> int:
        return self._log.log_start_offset

    def end(self) -> None:
        """Another epoch has begun, or the partition is out of service."""
        self._is_over = True

    # -- the leader's answers -----------------------------------------------------------------------------------------

    def answered(
        self, asked: FetchPosition, answer: LeaderAnswer, records: Records, *, now_ms: int
    ) -> Cut | Appending[None] | None:
        """Takes an answer. Returns the cut that is to be made, or what tells that a queued append is done.

        CorruptRecords if the records are damaged or out of order, StorageError if the disk fails; nothing has changed
        then.
        """
        if self.position is None:
            return None
        assert self._state is not None
        diverging = answer.diverging
        own_end: EpochEnd | None = None if diverging is None else self._log.end_offset_for_epoch(diverging.epoch)
        step = self._state.answered(asked, answer, own_end)
        if not isinstance(step, Take):
            return self._cut_of(step)
        if not records:
            self._settle(step.log_start_offset)
            return None
        work = partial(self._append, now_ms)
        if self._queue is None:
            work(records)
            self._settle(step.log_start_offset)
            return None
        return self._put(work, records, lambda _: self._settle(step.log_start_offset))

    def out_of_range(self, asked: FetchPosition, leader_start_offset: int, leader_end_offset: int) -> Cut | None:
        """The leader does not have what was asked for; returns the cut that is to be made."""
        if self.position is None:
            return None
        assert self._state is not None
        return self._cut_of(self._state.out_of_range(asked, leader_start_offset, leader_end_offset))

    def begin_log_start(self) -> Appending[None] | None:
        """Moves the log start in the queue of the disk, if it has one and the leader's is later; else None."""
        log, start_offset = self._log, self._due_start_offset
        if self._queue is None or start_offset <= log.log_start_offset or self.position is None:
            return None

        def move(_: Records) -> None:
            if not self._is_over:
                log.increment_log_start_offset(start_offset)

        return self._put(move, b"", self._moved)

    @property
    def must_flush(self) -> bool:
        """Whether flush.messages asks for a sync before the leader may count what was appended."""
        return self._log.must_flush_now

    # -- cutting ------------------------------------------------------------------------------------------------------

    def begin_cut(self, cut: Cut, *, now_ms: int) -> Appending[None] | Callable[[], None]:
        """Cuts the log in its queue, or returns what a thread has to do; there is no position until `was_cut`."""
        logger.info("%s", self._description_of(cut))
        work = partial(self._cut, cut, now_ms)
        self._is_changing = True
        if self._queue is None:
            return lambda: work(b"")
        return self._put(work, b"", lambda _: self.was_cut())

    def was_cut(self) -> None:
        """The log was cut."""
        self._is_changing = False
        self.first_cut = None
        if self._state is not None:
            self._state.truncated(self._log.log_end_offset, self._log.leader_epochs.latest)

    def change_failed(self) -> None:
        """An append or a cut has failed. The position is what it was: the next answer leads to it again."""
        self._is_changing = False

    # -- inside -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        log = self._log
        self._state = FollowerState(
            self.leader_id,
            self.leader_epoch,
            log_end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            last_epoch=log.leader_epochs.latest,
        )
        start = self._state.position.fetch_offset
        if start < log.log_end_offset:
            self.first_cut = Truncate(start)

    def _put(
        self, work: Callable[[Records], None], records: Records, settle: Callable[[None], None]
    ) -> Appending[None]:
        assert self._queue is not None
        self._is_changing = True
        return self._queue.put(work, records, settle)

    def _moved(self, _: None) -> None:
        self._is_changing = False

    def _append(self, now_ms: int, records: Records) -> None:
        if self._is_over:
            return
        self._log.append_as_follower(records, now_ms=now_ms, leader_epoch=self.leader_epoch)

    def _cut(self, cut: Cut, now_ms: int, _: Records) -> None:
        if self._is_over:
            return
        if isinstance(cut, Truncate):
            self._log.truncate_to(cut.end_offset, now_ms)
        else:
            self._log.truncate_fully_and_start_at(cut.start_offset, now_ms)

    def _settle(self, leader_start_offset: int) -> None:
        """An answer is in the log: takes over the watermark and the log start."""
        self._is_changing = False
        if self._is_over:
            return
        assert self._state is not None
        log = self._log
        self._state.appended(log.log_end_offset, log.leader_epochs.latest)
        log.update_high_watermark(self._state.high_watermark)
        self._leader_start_offset = leader_start_offset
        if self._queue is None and self._due_start_offset > log.log_start_offset:
            log.increment_log_start_offset(self._due_start_offset)

    @property
    def _due_start_offset(self) -> int:
        return min(self._leader_start_offset, self._log.high_watermark)

    def _cut_of(self, step: Step) -> Cut | None:
        return None if isinstance(step, Discard | Take) else step

    def _description_of(self, cut: Cut) -> str:
        log = self._log
        if isinstance(cut, StartAnew):
            return f"{log.directory.name} starts anew at {cut.start_offset}: its leader has nothing before that"
        lost = "" if cut.end_offset >= log.high_watermark else f", below its high watermark {log.high_watermark}"
        return f"{log.directory.name} is truncated from {log.log_end_offset} to {cut.end_offset}{lost}"


def _do_nothing() -> None:
    """What a barrier does."""
