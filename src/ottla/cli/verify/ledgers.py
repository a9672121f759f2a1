"""Numbered records, and what became of them: which are missing, came twice, or came out of order.

A run writes the numbers 1 to N, one in each record's value; headers name the run and N, so a reader knows how many
there must be even if the last ones are lost, and tells runs in one topic apart. Within a partition numbers only grow,
since one producer wrote them in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client import Record
    from ottla.protocol.records import Headers

RUN_HEADER: Final = "ottla-verify-run"
COUNT_HEADER: Final = "ottla-verify-count"
_SHOWN_MISSING: Final = 10


def headers_of_run(run: str, count: int) -> "Headers":
    return ((RUN_HEADER, run.encode()), (COUNT_HEADER, b"%d" % count))


def value_of_number(number: int, size_bytes: int) -> bytes:
    """The number, filled up with dots to a size."""
    return (b"%d" % number).ljust(size_bytes, b".")


@dataclass(slots=True)
class Ledger:
    """What was seen of one run."""

    run: str
    expected: int
    received: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    _seen: set[int] = field(default_factory=set)
    _last: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, topic: str, partition: int, number: int) -> None:
        """A record of the run, in the order in which its partition has it."""
        self.received += 1
        last = self._last.get((topic, partition), 0)
        if number in self._seen:
            self.duplicates += 1
        elif number < last:
            self.out_of_order += 1
        self._seen.add(number)
        self._last[topic, partition] = max(last, number)

    @property
    def is_complete(self) -> bool:
        return not self.missing()

    @property
    def is_sound(self) -> bool:
        """Whether every number came once and in order."""
        return self.is_complete and not self.duplicates and not self.out_of_order

    def missing(self) -> Sequence[int]:
        """The numbers that never came."""
        return [number for number in range(1, self.expected + 1) if number not in self._seen]

    def row(self) -> dict[str, object]:
        """The result as a command shows it."""
        missing = self.missing()
        return {
            "run": self.run,
            "expected": self.expected,
            "received": self.received,
            "missing": len(missing),
            "duplicates": self.duplicates,
            "out_of_order": self.out_of_order,
            "first_missing": list(missing[:_SHOWN_MISSING]),
        }


class Ledgers:
    """The runs of some topics; records that belong to none are counted."""

    def __init__(self, run: str | None = None) -> None:
        self.by_run: dict[str, Ledger] = {}
        self.foreign = 0
        self._run = run

    def add(self, record: "Record") -> None:
        """A record as it was read."""
        headers = dict(record.headers)
        run, count = headers.get(RUN_HEADER), headers.get(COUNT_HEADER)
        number = (record.value or b"").rstrip(b".")
        if run is None or count is None or not count.isdigit() or not number.isdigit():
            self.foreign += 1
            return
        name = run.decode(errors="replace")
        if self._run in (None, name):
            ledger = self.by_run.setdefault(name, Ledger(name, int(count)))
            ledger.add(record.topic, record.partition, int(number))
