"""What the rules together promise, and the bounds of a comparison."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.schemas.errors import UnwritableValue
from ottla.schemas.json_schema.comparison import FINDINGS_MAX
from unit.schemas.json_schema.compared import parse, rules
from unit.schemas.json_schema.generated import NEWER_SCHEMAS, SCHEMAS, VALUES


@given(NEWER_SCHEMAS)
def test_a_schema_reads_what_it_has_written(schema: dict[str, Any]) -> None:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": {"a": {"type": "string"}}}
    assert rules(whole, whole) == []


def changes(schema: dict[str, Any], other: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """A schema near another one: most pairs that know nothing of each other are incompatible."""
    changed = copy.deepcopy(schema)
    node = changed
    for _ in range(data.draw(st.integers(0, 2))):
        inner = [each for each in node.values() if isinstance(each, dict)]
        inner += [part for each in node.values() if isinstance(each, list) for part in each if isinstance(part, dict)]
        if inner:
            node = data.draw(st.sampled_from(inner))
    if node and data.draw(st.booleans()):
        del node[data.draw(st.sampled_from(sorted(node)))]
    else:
        node.update(other)
    return changed


@settings(max_examples=300)
@given(SCHEMAS, SCHEMAS, st.data(), st.lists(VALUES, min_size=1, max_size=10))
def test_a_compatible_reader_reads_what_was_written(
    written: dict[str, Any], other: dict[str, Any], data: st.DataObject, values: list[object]
) -> None:
    read = changes(written, other, data)
    try:
        writer, reader = parse(written), parse(read)
    except ValueError:
        # The change tore something apart.
        return
    if reader.compare(writer):
        return
    encode, decode = writer.encoder(), writer.decoder(reader)
    for value in values:
        try:
            encoded = encode(value)
        except UnwritableValue:
            continue
        assert decode(encoded) == value


def test_a_change_within_a_recursive_schema_is_found_once() -> None:
    def tree(leaf: str) -> dict[str, object]:
        return {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": {"type": leaf}}}

    assert rules(tree("integer"), tree("number")) == []
    assert rules(tree("number"), tree("integer")) == [("TYPE_NARROWED", "#/properties/leaf")]


def test_schemas_that_refer_to_each_other_end() -> None:
    def pair(leaf: str) -> dict[str, object]:
        return {
            "$ref": "#/definitions/a",
            "definitions": {
                "a": {"type": "object", "properties": {"b": {"$ref": "#/definitions/b"}}},
                "b": {"oneOf": [{"$ref": "#/definitions/a"}, {"type": leaf}]},
            },
        }

    assert rules(pair("integer"), pair("number")) == []
    assert rules(pair("string"), pair("number")) == [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/properties/b")]


def test_what_was_compatible_on_a_wrong_assumption_is_forgotten() -> None:
    """a contains c, which contains a. While a is compared, c is compatible if a is; then a turns out not to be."""

    def schema(leaf: str, first: object) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {"p": first, "q": {"$ref": "#/definitions/c"}},
            "definitions": {
                "a": {"type": "object", "properties": {"c": {"$ref": "#/definitions/c"}, "d": {"type": leaf}}},
                "c": {"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}}},
            },
        }

    a = {"$ref": "#/definitions/a"}
    assert rules(schema("string", a), schema("number", {"anyOf": [a, {"type": "object"}]})) == [
        ("TYPE_CHANGED", "#/properties/q/properties/a/properties/d")
    ]


def test_many_patterns_and_many_names_are_given_up() -> None:
    patterns = {"additionalProperties": False, "patternProperties": {f"^a{at}": {} for at in range(1001)}}
    names = {"additionalProperties": False, "properties": {f"p{at}": {} for at in range(1000)}}
    assert rules(names, patterns) == [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")]


def test_findings_do_not_multiply_without_end() -> None:
    """Each of fifty levels has the next one twice: there are more paths than anybody can list."""

    def levels(leaf: str) -> dict[str, object]:
        definitions: dict[str, object] = {
            f"d{at}": {
                "properties": {"a": {"$ref": f"#/definitions/d{at + 1}"}, "b": {"$ref": f"#/definitions/d{at + 1}"}}
            }
            for at in range(50)
        }
        return {"$ref": "#/definitions/d0", "definitions": {**definitions, "d50": {"type": leaf}}}

    assert len(rules(levels("string"), levels("number"))) == FINDINGS_MAX


def test_what_unfolds_too_far_is_incompatible() -> None:
    chain: dict[str, object] = {f"d{at}": {"items": {"$ref": f"#/definitions/d{at + 1}"}} for at in range(500)}
    schema = {"$ref": "#/definitions/d0", "definitions": {**chain, "d500": {}}}
    (finding,) = parse(schema).compare(parse(schema))
    assert "not compared" in finding.detail


def test_a_finding_shows_both_sides() -> None:
    (finding,) = parse({"items": {"type": "string"}}).compare(parse({"items": {"type": "number"}}))
    assert (finding.writer, finding.reader) == ('{"type":"number"}', '{"type":"string"}')
    assert finding.detail == "number -> string"
    long = {"enum": [str(number) for number in range(1000)]}
    (finding,) = parse({"enum": ["x"]}).compare(parse(long))
    assert finding.writer is not None
    assert len(finding.writer) < 600
    assert json.loads(finding.reader or "") == {"enum": ["x"]}


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
def test_older_drafts_hide_what_stands_beside_a_reference(draft: str) -> None:
    schema = {"$schema": f"http://json-schema.org/{draft}/schema#", "$ref": "#/definitions/a"}
    writer = {**schema, "definitions": {"a": {"type": "string"}}}
    assert rules(writer, {**writer, "maxLength": 5}) == []


def test_newer_drafts_do_not() -> None:
    writer = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "string"}},
    }
    assert rules(writer, {**writer, "maxLength": 5}) == [("TYPE_CHANGED", "#/")]
    assert rules({**writer, "maxLength": 5}, writer) == []
