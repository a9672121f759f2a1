"""What a follower decides in one leader epoch: from where it fetches, and what an answer means for its log.

Pure: the shell sends the fetch, appends, truncates, and reports the outcome.

Guarantees
- An answer counts only if it was asked for from where the log ends now, in the epoch that still holds. The log takes no
  batch of a later epoch than that: its leader is not the one that was asked (KAFKA-18723).
- A diverging answer (KIP-595) moves neither the watermark nor the log start. It cuts the log back to where both
  histories agree, in several steps if the leader does not know the follower's epochs, or the follower the leader's.
- The watermark is the leader's, as far as the log reaches. It goes back only with a log that is cut below it.

Invariant: the fetch offset is the end of the log. An answer without records leaves the last fetched epoch as it was
(KAFKA-15510), or the next fetch could not be checked for divergence.

The log and its epochs survive a crash; the position is derived from them.
"""

from dataclasses import dataclass
from typing import TypeAlias

from ottla.storage.leader_epochs import EpochEnd

NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class FetchPosition:
    """What a follower asks for."""

    fetch_offset: int
    last_fetched_epoch: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class LeaderAnswer:
    """What a leader says about one partition, without an error."""

    high_watermark: int
    log_start_offset: int
    diverging: EpochEnd | None = None


@dataclass(frozen=True, slots=True)
class Discard:
    """The answer is too late, or not of the leader that was asked: ask again."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log to this end, then say so with `truncated`, and ask again."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class StartAnew:
    """Nothing of the log is usable: drop it with its epochs and producers, and start at this offset."""

    start_offset: int


@dataclass(frozen=True, slots=True)
class Take:
    """Append the records, say so with `appended`, then move the log start to the leader's if that is later."""

    log_start_offset: int


Step: TypeAlias = Discard | Truncate | StartAnew | Take


class FollowerState:
    """One partition, followed by this broker in one leader epoch."""

    __slots__ = ("_leader_high_watermark", "high_watermark", "leader_id", "position")

    def __init__(
        self, leader_id: int, leader_epoch: int, *, log_end_offset: int, high_watermark: int, last_epoch: int
    ) -> None:
        """With epochs in the log, divergence is found by asking; without any, only what is committed can be trusted."""
        self.leader_id = leader_id
        start = log_end_offset if last_epoch != NO_EPOCH else high_watermark
        self.position = FetchPosition(start, last_epoch, leader_epoch)
        self.high_watermark = high_watermark
        self._leader_high_watermark = high_watermark

    def answered(self, asked: FetchPosition, answer: LeaderAnswer, own_end: EpochEnd | None) -> Step:
        """What to do with an answer. `own_end` is what the own log says about the diverging epoch."""
        if asked != self.position:
            return Discard()
        if answer.diverging is not None:
            return Truncate(self._agreed_end(answer.diverging, own_end))
        self._leader_high_watermark = answer.high_watermark
        self._advance()
        return Take(answer.log_start_offset)

    def out_of_range(self, asked: FetchPosition, leader_start_offset: int, leader_end_offset: int) -> Step:
        """The leader does not have what was asked for; it has said what it has."""
        if asked != self.position:
            return Discard()
        if leader_end_offset < self.position.fetch_offset:
            return Truncate(leader_end_offset)
        if leader_start_offset > self.position.fetch_offset:
            return StartAnew(leader_start_offset)
        # Records were appended or deleted between the refusal and the question: the position is valid now.
        return Discard()

    def appended(self, log_end_offset: int, last_epoch: int) -> None:
        """The records of an answer are in the log."""
        if log_end_offset > self.position.fetch_offset:
            self.position = FetchPosition(log_end_offset, last_epoch, self.position.leader_epoch)
            self._advance()

    def truncated(self, log_end_offset: int, last_epoch: int) -> None:
        """The log was cut, or begun anew."""
        self.position = FetchPosition(log_end_offset, last_epoch, self.position.leader_epoch)
        self.high_watermark = min(self.high_watermark, log_end_offset)

    def _agreed_end(self, diverging: EpochEnd, own_end: EpochEnd | None) -> int:
        log_end_offset = self.position.fetch_offset
        if own_end is None:
            return min(diverging.end_offset, log_end_offset)
        if own_end.epoch != diverging.epoch:
            # The leader's epoch is unknown here: what is left after this cut is checked again.
            return min(own_end.end_offset, log_end_offset)
        return min(own_end.end_offset, diverging.end_offset, log_end_offset)

    def _advance(self) -> None:
        reached = min(self._leader_high_watermark, self.position.fetch_offset)
        self.high_watermark = max(self.high_watermark, reached)
