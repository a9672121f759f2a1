"""Changes that wait to be written, and how several of them become one transaction.

They are decided in the order in which they came, each with what those before it change: so the outcome is the same as
if each had been written before the next one was decided. One that is refused leaves the others alone. The records of
all are then written together, which costs the cluster as much as the records of one; if that fails, all of them fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.registry.change import Change
from ottla.registry.leading import EncodedRecord
from ottla.registry.records import Record
from ottla.registry.state import RegistryState

# More than that would only let the first of them wait longer.
TOGETHER_MAX: Final = 100

Decide = Callable[[RegistryState], Change[Any]]
Encode = Callable[[Sequence[Record]], list[EncodedRecord]]


@dataclass(frozen=True, slots=True, eq=False)
class WaitingChange:
    decide: Decide
    answer: asyncio.Future[Any]

    def settle(self, answer: Any) -> None:
        """Whoever asked may have gone away."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def refuse(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclass(slots=True)
class Decided:
    """What several changes come to. They are answered when the records were read back."""

    records: list[EncodedRecord] = field(default_factory=list)
    answers: list[tuple[WaitingChange, Any]] = field(default_factory=list)
    refused: list[tuple[WaitingChange, Exception]] = field(default_factory=list)


def decide_together(changes: Sequence[WaitingChange], state: RegistryState, encode: Encode) -> Decided:
    decided = Decided()
    for one in changes:
        try:
            change = one.decide(state)
            decided.records += encode(change.records)
        except Exception as error:  # noqa: BLE001 - a fault of ours, too, is the answer to this one alone
            decided.refused.append((one, error))
            continue
        for record in change.records:
            state = state.apply(record)
        decided.answers.append((one, change.answer))
    return decided
