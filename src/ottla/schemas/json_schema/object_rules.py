"""The rules for objects: what may come, what may go, what is required."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.schemas.json_schema.difference import Difference, compare_limits, differ
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.kinds import Anything, Array, Nothing, Object

if TYPE_CHECKING:
    from ottla.schemas.json_schema.comparison import Comparison


def compare_objects(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    yield from _compare_required(writer, reader)
    for name in sorted(writer.properties.keys() | reader.properties.keys()):
        for difference in _compare_property(comparison, writer, reader, name):
            yield difference.below("properties", name)
    for difference in _compare_dependencies(comparison, writer, reader):
        yield difference.below("dependencies")
    for difference in _compare_more(comparison, writer, reader):
        yield difference.below("additionalProperties")
    for difference in compare_unevaluated(comparison, writer, reader, "UNEVALUATED_PROPERTIES"):
        yield difference.below("unevaluatedProperties")
    for keyword, rule in (("maxProperties", "MAX_PROPERTIES"), ("minProperties", "MIN_PROPERTIES")):
        yield from compare_limits(keyword, rule, writer.limits.get(keyword), reader.limits.get(keyword), writer, reader)


def _compare_required(writer: Object, reader: Object) -> Iterator[Difference]:
    for name in sorted(reader.required - writer.required):
        if name in writer.properties and name in reader.properties and not has_default(reader.properties[name]):
            yield differ("REQUIRED_ATTRIBUTE_ADDED", f"{name!r} is required", writer, reader, "required", name)


def _compare_property(comparison: Comparison, writer: Object, reader: Object, name: str) -> Iterator[Difference]:
    written, read = writer.properties.get(name), reader.properties.get(name)
    if written is not None and read is not None:
        yield from comparison.compare(written, read)
    elif read is not None:
        yield from _compare_added(comparison, writer, reader, name, read)
    elif written is not None:
        yield from _compare_removed(comparison, writer, reader, name, written)


def _compare_removed(
    comparison: Comparison, writer: Object, reader: Object, name: str, written: Place
) -> Iterator[Difference]:
    # Whether a property may go is up to the reader's content model.
    if is_open(comparison, reader):
        return
    covering = _find_covering(comparison, reader, name, if_unknown=False)
    if covering is not None:
        found = comparison.compare(written, covering)
        if found:
            yield from found
            rule = "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield differ(rule, f"{name!r} does not fit {covering.path}", writer, reader)
    elif not isinstance(comparison.kinds.of(written), Nothing):
        yield differ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", f"{name!r} is gone", writer, reader)


def _compare_added(
    comparison: Comparison, writer: Object, reader: Object, name: str, read: Place
) -> Iterator[Difference]:
    # Whether a property may come is up to the writer's content model.
    is_required = name in reader.required
    if is_open(comparison, writer):
        if not isinstance(comparison.kinds.of(read), Anything):
            necessity = "REQUIRED_PROPERTY_WITH_DEFAULT" if has_default(read) else "REQUIRED_PROPERTY"
            rule = f"{necessity if is_required else 'OPTIONAL_PROPERTY'}_ADDED_TO_OPEN_CONTENT_MODEL"
            yield differ(rule, f"{name!r} may have been written with any value", writer, reader)
        return
    covering = _find_covering(comparison, writer, name, if_unknown=True)
    if covering is not None:
        found = comparison.compare(covering, read)
        if found:
            yield from found
            rule = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield differ(rule, f"{name!r} may have been written as {covering.path}", writer, reader)
    if is_required and not has_default(read):
        rule = "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"
        yield differ(rule, f"{name!r} is required and has no default", writer, reader)


def _compare_dependencies(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    for name, read in sorted(reader.needed_names.items()):
        written = writer.needed_names.get(name)
        detail = f"{name!r} needs {', '.join(sorted(read))}"
        if written is None:
            yield differ("DEPENDENCY_ARRAY_ADDED", detail, writer, reader, name)
        elif not read <= written:
            rule = "DEPENDENCY_ARRAY_EXTENDED" if read >= written else "DEPENDENCY_ARRAY_CHANGED"
            yield differ(rule, detail, writer, reader, name)
    for name, schema in sorted(reader.needed_schemas.items()):
        if name not in writer.needed_schemas:
            yield differ("DEPENDENCY_SCHEMA_ADDED", f"{name!r} needs {schema.path}", writer, reader, name)
            continue
        for difference in comparison.compare(writer.needed_schemas[name], schema):
            yield difference.below(name)


def _compare_more(comparison: Comparison, writer: Object, reader: Object) -> Iterator[Difference]:
    if writer.has_more and not reader.has_more:
        yield differ("ADDITIONAL_PROPERTIES_REMOVED", "other properties are gone", writer, reader)
    elif writer.has_more and writer.more is None and reader.more is not None:
        yield differ("ADDITIONAL_PROPERTIES_NARROWED", f"others must fit {reader.more.path}", writer, reader)
    elif writer.more is not None and reader.more is not None:
        yield from comparison.compare(writer.more, reader.more)


def compare_unevaluated(
    comparison: Comparison, writer: Object | Array, reader: Object | Array, rule: str
) -> Iterator[Difference]:
    if reader.unevaluated is None:
        return
    written = None if writer.unevaluated is None else comparison.kinds.of(writer.unevaluated)
    read = comparison.kinds.of(reader.unevaluated)
    if isinstance(read, Anything) or isinstance(written, Nothing):
        return
    if isinstance(read, Nothing):
        yield differ(f"{rule}_REMOVED", "others are gone", writer, reader)
    elif written is None or isinstance(written, Anything):
        yield differ(f"{rule}_NARROWED", f"others must fit {reader.unevaluated.path}", writer, reader)
    else:
        yield from comparison.compare(written, read)


def is_open(comparison: Comparison, schema: Object) -> bool:
    if schema.patterns or schema.more is not None or not schema.has_more:
        return False
    return schema.unevaluated is None or isinstance(comparison.kinds.of(schema.unevaluated), Anything)


def _find_covering(comparison: Comparison, schema: Object, name: str, *, if_unknown: bool) -> Place | None:
    """What the content model says of a property that has no schema of its own; None if there can be none."""
    for pattern, covering in schema.patterns.items():
        if comparison.matches(pattern, name, if_unknown=if_unknown):
            return covering
    if schema.more is not None or not schema.has_more or schema.unevaluated is None:
        return schema.more
    return None if isinstance(comparison.kinds.of(schema.unevaluated), Nothing) else schema.unevaluated


def has_default(place: Place) -> bool:
    return isinstance(place.contents, dict) and "default" in place.contents
