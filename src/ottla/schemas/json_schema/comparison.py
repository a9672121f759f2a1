"""Why a schema cannot read what another one has written: Confluent's rules for JSON Schema, by its names.

Confluent walks through both schemas at once and names each difference. Some differences let more values pass, and are
no findings; the others are. The names are those of Confluent 8, which tells a required property that was added to an
open content model from an optional one, where 7 has PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL for both. Content models:

    open             any other properties: a property may go, and none may come unless it takes any value
    closed           "additionalProperties": false: an optional property may come, and none may go
    partially open   others by a schema or by patterns: what comes and goes must fit those

The same holds for the items of tuples. Rules are in `scalar_rules`, `object_rules`, `array_rules` and
`combination_rules`; what Confluent does not look at, and we do, is in `blind_spots`.

Schemas may contain themselves, and may be made to unfold without end. So each pair of schemas is compared once: a pair
that is met again while it is being compared is taken for compatible, and is so if nothing else is found. If something
is, then whatever was called compatible meanwhile may have been so on that assumption, and is forgotten. Depth, work and
the number of findings are bounded; what is beyond counts as incompatible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding
from ottla.schemas.json_schema import array_rules, combination_rules, object_rules, scalar_rules
from ottla.schemas.json_schema.blind_spots import find_unseen
from ottla.schemas.json_schema.difference import Difference, differ
from ottla.schemas.json_schema.documents import Document, Place
from ottla.schemas.json_schema.json_text import show_json
from ottla.schemas.json_schema.kinds import (
    ALL_OF,
    Anything,
    Array,
    Combination,
    Constant,
    Enumeration,
    Kind,
    Kinds,
    Negation,
    Nothing,
    Number,
    Object,
    Text,
)
from ottla.schemas.json_schema.patterns import compile_pattern

DEPTH_MAX: Final = 120
PAIRS_MAX: Final = 100_000
MATCHES_MAX: Final = 200_000
FINDINGS_MAX: Final = 100
_SHOWN_MAX: Final = 500


class _TooMuch(Exception):
    pass


class Comparison:
    def __init__(self) -> None:
        self.kinds = Kinds()
        self._known: dict[tuple[int, int], list[Difference]] = {}
        self._under_way: set[tuple[int, int]] = set()
        # Pairs under way that were met again, and those that were called compatible, in order.
        self._assumed: set[tuple[int, int]] = set()
        self._compatible: list[tuple[int, int]] = []
        self._alive: list[Kind] = []
        self._pairs_left = PAIRS_MAX
        self._matches_left = MATCHES_MAX
        self._patterns: dict[str, Any] = {}

    def compare(self, writer: Place | Kind | None, reader: Place | Kind | None) -> list[Difference]:
        """What keeps values of one from being values of the other."""
        if reader is None:
            return []
        reader_kind = self.kinds.of(reader)
        if writer is None:
            return [differ("SCHEMA_ADDED", "there was no schema", None, reader_kind)]
        writer_kind = self.kinds.of(writer)
        pair = (id(writer_kind), id(reader_kind))
        if pair in self._under_way:
            self._assumed.add(pair)
            return []
        known = self._known.get(pair)
        return self._compare_pair(pair, writer_kind, reader_kind) if known is None else known

    def _compare_pair(self, pair: tuple[int, int], writer: Kind, reader: Kind) -> list[Difference]:
        self._pairs_left -= 1
        if len(self._under_way) >= DEPTH_MAX or self._pairs_left < 0:
            raise _TooMuch
        # Their identities must not pass to others.
        self._alive += (writer, reader)
        began = len(self._compatible)
        self._under_way.add(pair)
        found = self._known[pair] = self._compare_kinds(writer, reader)[:FINDINGS_MAX]
        self._under_way.remove(pair)
        if not found:
            self._compatible.append(pair)
        elif pair in self._assumed:
            for doubtful in self._compatible[began:]:
                del self._known[doubtful]
            del self._compatible[began:]
        self._assumed.discard(pair)
        return found

    def matches(self, pattern: str, name: str, *, if_unknown: bool) -> bool:
        """Whether a pattern has to do with a name; what cannot be run has if that is the safe assumption."""
        self._matches_left -= 1
        if self._matches_left < 0:
            raise _TooMuch
        if pattern not in self._patterns:
            try:
                self._patterns[pattern] = compile_pattern(pattern)
            except InvalidSchema:
                self._patterns[pattern] = None
        compiled = self._patterns[pattern]
        return if_unknown if compiled is None else compiled.search(name) is not None

    def is_compatible(self, writer: Place | Kind | None, reader: Place | Kind | None) -> bool:
        return not self.compare(writer, reader)

    def _compare_kinds(self, writer: Kind, reader: Kind) -> list[Difference]:
        if self._is_alternative(writer, reader):
            return []
        if type(writer) is not type(reader):
            if isinstance(writer, Nothing) or isinstance(reader, Anything):
                return []
            return [differ("TYPE_CHANGED", f"{_name(writer)} -> {_name(reader)}", writer, reader)]
        return [*self._compare_alike(writer, reader), *find_unseen(self, writer, reader)]

    def _is_alternative(self, writer: Kind, reader: Kind) -> bool:
        """One side is a combination: is the other one of its parts?"""
        if isinstance(writer, Combination) == isinstance(reader, Combination):
            return False
        if isinstance(reader, Combination):
            if len(reader.parts) > 1 and reader.criterion == ALL_OF:
                return False
            return any(self.is_compatible(writer, part) for part in reader.parts)
        if isinstance(writer, Combination):
            if len(writer.parts) > 1 and writer.criterion != ALL_OF:
                return False
            return any(self.is_compatible(part, reader) for part in writer.parts)
        return False

    def _compare_alike(self, writer: Kind, reader: Kind) -> Iterable[Difference]:
        if isinstance(writer, Text) and isinstance(reader, Text):
            return scalar_rules.compare_texts(writer, reader)
        if isinstance(writer, Number) and isinstance(reader, Number):
            return scalar_rules.compare_numbers(writer, reader)
        if isinstance(writer, Enumeration) and isinstance(reader, Enumeration):
            return scalar_rules.compare_enumerations(writer, reader)
        if isinstance(writer, Constant) and isinstance(reader, Constant):
            return scalar_rules.compare_constants(writer, reader)
        if isinstance(writer, Object) and isinstance(reader, Object):
            return object_rules.compare_objects(self, writer, reader)
        if isinstance(writer, Array) and isinstance(reader, Array):
            return array_rules.compare_arrays(self, writer, reader)
        if isinstance(writer, Combination) and isinstance(reader, Combination):
            return combination_rules.compare_combinations(self, writer, reader)
        if isinstance(writer, Negation) and isinstance(reader, Negation):
            return combination_rules.compare_negations(self, writer, reader)
        return []


def compare(writer: Document, reader: Document) -> list[Finding]:
    try:
        differences = Comparison().compare(writer.root, reader.root)
    except _TooMuch:
        detail = f"the schemas unfold to more than {DEPTH_MAX} levels or {PAIRS_MAX} pairs, which are not compared"
        return [Finding("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/", detail)]
    return [
        Finding(
            difference.rule,
            "#/" + "/".join(difference.path),
            difference.detail,
            reader=_show(difference.reader),
            writer=_show(difference.writer),
        )
        for difference in differences
    ]


def _name(kind: Kind) -> str:
    if isinstance(kind, Combination):
        return kind.criterion
    if isinstance(kind, Number) and kind.is_integer:
        return "integer"
    return "string" if isinstance(kind, Text) else type(kind).__name__.lower()


def _show(place: Place | None) -> str | None:
    return None if place is None else show_json(place.contents, _SHOWN_MAX)
