"""The rules for allOf, anyOf, oneOf and not.

Confluent asks whether the parts of one side can be paired with parts of the other that read them: all parts of the side
that has fewer. So it looks for the largest set of pairs (a maximum matching of a bipartite graph, by augmenting paths).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ottla.schemas.json_schema.difference import Difference, differ
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.json_text import write_json
from ottla.schemas.json_schema.kinds import ALL_OF, ANY_OF, ONE_OF, Combination, Kind, Negation

if TYPE_CHECKING:
    from ottla.schemas.json_schema.comparison import Comparison


def compare_combinations(comparison: Comparison, writer: Combination, reader: Combination) -> Iterator[Difference]:
    if not _may_follow(writer, reader):
        yield differ("COMBINED_TYPE_CHANGED", f"{writer.criterion} -> {reader.criterion}", writer, reader)
        return
    written, read = _drop_duplicates(writer), _drop_duplicates(reader)
    numbers = f"{len(written)} -> {len(read)} schemas"
    if len(written) < len(read) and reader.criterion == ALL_OF:
        yield differ("PRODUCT_TYPE_EXTENDED", numbers, writer, reader)
    elif len(written) > len(read) and reader.criterion != ALL_OF:
        yield differ("SUM_TYPE_NARROWED", numbers, writer, reader)
    if _Matching(comparison, written, read).count() < min(len(written), len(read)):
        yield differ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", f"{reader.criterion} has no place for each", writer, reader)


def compare_negations(comparison: Comparison, writer: Negation, reader: Negation) -> Iterator[Difference]:
    # What the reader excludes, the writer must have excluded: the other way round.
    if not comparison.is_compatible(reader.negated, writer.negated):
        yield differ("NOT_TYPE_EXTENDED", "more is excluded", writer, reader, "not")


def _may_follow(writer: Combination, reader: Combination) -> bool:
    if reader.criterion in (writer.criterion, ANY_OF):
        return True
    if reader.criterion == ONE_OF:
        return len(writer.parts) == 1
    return len(writer.parts) == 1 and len(reader.parts) == 1


def _drop_duplicates(combination: Combination) -> list[Place | Kind]:
    return list({_identify(part): part for part in reversed(combination.parts)}.values())[::-1]


def _identify(part: Place | Kind) -> object:
    return id(part) if isinstance(part, Kind) else write_json(part.contents, is_sorted=True)


class _Matching:
    """Pairs of writers and readers, as many as can be had.

    It begins with pairs that look the same, which are most of them in practice, so that long lists of alternatives are
    not compared each with each.
    """

    def __init__(
        self, comparison: Comparison, writers: Sequence[Place | Kind], readers: Sequence[Place | Kind]
    ) -> None:
        self._comparison = comparison
        self._writers = writers
        self._readers = readers
        self._reader_of: dict[int, int] = {}
        self._writer_of: dict[int, int] = {}

    def count(self) -> int:
        alike = {_identify(reader): index for index, reader in enumerate(self._readers)}
        for index, writer in enumerate(self._writers):
            reader = alike.get(_identify(writer))
            if reader is not None and self._comparison.is_compatible(writer, self._readers[reader]):
                self._reader_of[index], self._writer_of[reader] = reader, index
        for index in range(len(self._writers)):
            if len(self._reader_of) == len(self._readers):
                break
            if index not in self._reader_of:
                self._find_reader(index)
        return len(self._reader_of)

    def _find_reader(self, start: int) -> None:
        """Breadth first: a reader that is free, or becomes free because its writer finds another one."""
        asked_by: dict[int, int] = {}
        waiting = [start]
        for writer in waiting:
            for reader, candidate in enumerate(self._readers):
                if reader in asked_by or not self._comparison.is_compatible(self._writers[writer], candidate):
                    continue
                asked_by[reader] = writer
                if reader not in self._writer_of:
                    self._hand_over(reader, asked_by)
                    return
                waiting.append(self._writer_of[reader])

    def _hand_over(self, free: int, asked_by: dict[int, int]) -> None:
        """To whoever asked for it, whose own reader goes to whoever asked for that, up to the one who has none."""
        reader: int | None = free
        while reader is not None:
            writer = asked_by[reader]
            given_up = self._reader_of.get(writer)
            self._reader_of[writer], self._writer_of[reader] = reader, writer
            reader = given_up
