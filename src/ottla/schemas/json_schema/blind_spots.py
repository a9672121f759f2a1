"""What Confluent's comparison does not look at, and what we make of it.

A schema that is called compatible must read what was written. Confluent's registry calls pairs compatible that are not,
because it never looks at some keywords. Those are looked at here, under the nearest of Confluent's names:

| keyword | finding |
| --- | --- |
| `type`, where the writer has only keywords of that type | TYPE_NARROWED |
| `required`, of a property without a schema | REQUIRED_ATTRIBUTE_ADDED |
| `patternProperties` | as for a property; ADDITIONAL_PROPERTIES_NARROWED or _REMOVED for one that came or went |
| a property that came, beside patterns of the writer that do not match it | PROPERTY_ADDED_NOT_COVERED_... |
| `propertyNames`, `contains` | as for any schema |
| `if`, `then`, `else` | TYPE_CHANGED if they differ at all |

One thing stays open, as in Confluent's: a schema that was added to a `oneOf` may match what another one matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.schemas.json_schema.difference import Difference, differ
from ottla.schemas.json_schema.json_text import write_json
from ottla.schemas.json_schema.kinds import Anything, Array, Condition, Kind, Number, Object, Text
from ottla.schemas.json_schema.object_rules import has_default, is_open

if TYPE_CHECKING:
    from ottla.schemas.json_schema.comparison import Comparison


def find_unseen(comparison: Comparison, writer: Kind, reader: Kind) -> Iterator[Difference]:
    """Both are of the same kind."""
    if _is_demanded(reader) and not _is_demanded(writer):
        detail = "values of other types passed before"
        yield differ("TYPE_NARROWED", detail, writer, reader)
    if isinstance(writer, Object) and isinstance(reader, Object):
        yield from _find_required(comparison, writer, reader)
        yield from _find_patterns(comparison, writer, reader)
        yield from _find_lost_patterns(comparison, writer, reader)
        yield from _find_uncovered(comparison, writer, reader)
        if reader.names is not None:
            for difference in comparison.compare(writer.names, reader.names):
                yield difference.below("propertyNames")
    elif isinstance(writer, Array) and isinstance(reader, Array):
        if reader.contains is not None:
            found = list(comparison.compare(writer.contains, reader.contains))
            if "maxContains" in reader.limits and writer.contains is not None:
                # Nor may more items match than before.
                found += comparison.compare(reader.contains, writer.contains)
            for difference in found:
                yield difference.below("contains")
    elif isinstance(writer, Condition) and _condition_of(writer) != _condition_of(reader):
        yield differ("TYPE_CHANGED", "the condition is another one", writer, reader, "if")


def _is_demanded(kind: Kind) -> bool:
    return isinstance(kind, Text | Number | Array | Object) and kind.is_demanded


def _find_required(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    for name in sorted(reader.required - writer.required):
        read = reader.properties.get(name)
        if read is not None:
            if has_default(read) or name in writer.properties:
                continue
            # Confluent's rules have found it, unless it may take any value.
            if not is_open(comparison, writer) or not isinstance(comparison.kinds.of(read), Anything):
                continue
        yield differ("REQUIRED_ATTRIBUTE_ADDED", f"{name!r} is required", writer, reader, "required", name)


def _find_uncovered(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    """Confluent takes a writer with patterns for closed to what does not match them, although others may pass."""
    if not writer.patterns or not writer.has_more or writer.more is not None or writer.unevaluated is not None:
        return
    for name in sorted(reader.properties.keys() - writer.properties.keys()):
        is_covered = any(comparison.matches(pattern, name, if_unknown=False) for pattern in writer.patterns)
        if not is_covered and not isinstance(comparison.kinds.of(reader.properties[name]), Anything):
            rule = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            detail = f"{name!r} may have been written with any value"
            yield differ(rule, detail, writer, reader, "properties", name)


def _find_patterns(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    for pattern, read in reader.patterns.items():
        path = ("patternProperties", pattern)
        if pattern in writer.patterns:
            for difference in comparison.compare(writer.patterns[pattern], read):
                yield difference.below(*path)
            continue
        if isinstance(comparison.kinds.of(read), Anything):
            continue
        if writer.has_more or writer.patterns:
            detail = f"what matches must fit {read.path}"
            yield differ("ADDITIONAL_PROPERTIES_NARROWED", detail, writer, reader, *path)
            continue
        for name, written in sorted(writer.properties.items()):
            if comparison.matches(pattern, name, if_unknown=True):
                for difference in comparison.compare(written, read):
                    yield difference.below(*path)


def _find_lost_patterns(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    for pattern, written in writer.patterns.items():
        path = ("patternProperties", pattern)
        if pattern in reader.patterns or is_open(comparison, reader):
            continue
        if reader.more is None:
            if not reader.has_more:
                yield differ("ADDITIONAL_PROPERTIES_REMOVED", "what matches is gone", writer, reader, *path)
            continue
        for difference in comparison.compare(written, reader.more):
            yield difference.below(*path)


def _condition_of(kind: Kind) -> str:
    schema = kind.place.contents
    return write_json({key: schema.get(key) for key in ("if", "then", "else")}, is_sorted=True)
