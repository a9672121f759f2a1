import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.format import format_of
from ottla.schemas.json_schema.json_format import JsonFormat
from ottla.schemas.schema import SchemaType
from unit.schemas.json_schema.compared import parse
from unit.schemas.json_schema.generated import NEWER_SCHEMAS, VALUES

ORDER = '{ "type": "object", "title": "Order", "properties": {"b": {"maximum": 1.0}, "a": {}} }'


def test_the_format_is_found_by_its_name() -> None:
    assert isinstance(format_of(SchemaType.JSON), JsonFormat)


def test_the_canonical_text_keeps_its_order() -> None:
    schema = JsonFormat().parse(ORDER, {})
    assert schema.canonical == '{"type":"object","title":"Order","properties":{"b":{"maximum":1.0},"a":{}}}'
    assert schema.normalised() == '{"properties":{"a":{},"b":{"maximum":1.0}},"title":"Order","type":"object"}'


@pytest.mark.parametrize("form", ["", "resolved", "serialized", "nonsense"])
def test_there_are_no_other_forms(form: str) -> None:
    schema = JsonFormat().parse(ORDER, {})
    assert schema.formatted(form) == schema.canonical


@pytest.mark.parametrize(("schema", "name"), [({"title": "Order"}, "Order"), ({}, None), (True, None)])
def test_the_title_is_the_name(schema: object, name: str | None) -> None:
    assert parse(schema).name == name


@given(NEWER_SCHEMAS, VALUES, st.booleans())
def test_texts_are_their_own_and_mean_the_same(schema: dict[str, Any], note: object, is_newest: bool) -> None:
    whole = {**schema, "$defs": {"a": {}}, "default": note}
    if is_newest:
        whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    first = JsonFormat().parse(json.dumps(whole, indent=1), {})
    canonical = JsonFormat().parse(first.canonical, {})
    normalised = JsonFormat().parse(first.normalised(), {})
    assert canonical.canonical == first.canonical
    assert normalised.normalised() == normalised.canonical == first.normalised() == canonical.normalised()
    assert json.loads(first.canonical) == json.loads(first.normalised()) == whole
    assert first.compare(normalised) == normalised.compare(first) == []


def test_texts_that_differ_in_space_alone_have_one_canonical_text() -> None:
    assert JsonFormat().parse(" {\n} ", {}).canonical == JsonFormat().parse("{}", {}).canonical


@given(st.text(max_size=50) | VALUES.map(json.dumps))
def test_nonsense_is_refused_and_nothing_else_happens(text: str) -> None:
    try:
        schema = JsonFormat().parse(text, {})
    except ValueError as error:
        assert type(error).__name__ == "InvalidSchema"
    else:
        assert schema.compare(schema) == []


@given(
    st.dictionaries(
        st.sampled_from(["type", "items", "properties", "$ref", "$id", "required", "enum", "allOf"]), VALUES
    )
)
def test_keywords_with_nonsense_are_refused_or_harmless(keywords: dict[str, object]) -> None:
    for is_new in (True, False):
        try:
            schema = JsonFormat().parse(json.dumps(keywords), {}, is_new=is_new)
            schema.encoder()
        except ValueError as error:
            assert type(error).__name__ in ("InvalidSchema", "Unsupported")
        else:
            assert schema.compare(schema) == []
