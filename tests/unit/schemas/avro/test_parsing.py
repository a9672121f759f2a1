import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.avro.parsing import DEPTH_MAX, VALUE_DEPTH_MAX, parse_document
from ottla.schemas.errors import InvalidSchema
from unit.schemas.avro.schemas import field, parse, record

ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("string", "not JSON"),
        ('""', 'type "" is not defined'),
        ('"strin"', 'at /: the type "strin" is not defined'),
        ("null", "None is no type"),
        ("5", "5 is no type"),
        ({}, "the type is None"),
        ({"type": {"type": "string"}}, "has to be a text"),
        ({"type": "record", "name": "R"}, "R has no list of fields"),
        ({"type": "record", "fields": []}, "the name is None"),
        (record(name="1R"), '"1R" is no name'),
        (record(name="a..R"), '"a..R" is no name'),
        (record(namespace="a-b"), '"a-b.R" is no name'),
        (record(name="string"), "the name of a primitive type"),
        (record(5), "at /fields/0: 5 is no field"),
        (record({"type": "int"}), "None is no name of a field"),
        (record({"name": "a"}), "the field a has no type"),
        (record(field("a", "int"), field("a", "int")), "at /fields/1: the record R has a field a already"),
        (record(field("a", "int", order="up")), 'the order of field a is "up"'),
        (record(field("a", "int", order=None)), "the order of field a is None"),
        (record(field("a", "int", aliases="b")), "have to be a list"),
        (record(aliases=[1]), "1 is no alias"),
        (record(aliases=["a-b"]), '"a-b" is no alias'),
        (record(field("a", record())), "at /fields/0/type: R is defined already"),
        (record(field("a", "double", default="x")), 'the default "x" is no number'),
        ({"type": "enum", "name": "E"}, "no list of symbols"),
        (ENUM | {"symbols": ["A", "A"]}, "at /symbols/1: the symbol A is there twice"),
        (ENUM | {"symbols": ["a-b"]}, '"a-b" is no symbol'),
        (ENUM | {"symbols": [1]}, "1 is no symbol"),
        (ENUM | {"default": "C"}, '"C" is none of the symbols'),
        ({"type": "fixed", "name": "F"}, "the size is None"),
        ({"type": "fixed", "name": "F", "size": -1}, "the size is -1"),
        ({"type": "fixed", "name": "F", "size": 1.0}, "the size is 1.0"),
        ({"type": "fixed", "name": "F", "size": True}, "the size is True"),
        ({"type": "fixed", "name": "F", "size": 1 << 31}, "the size is 2147483648"),
        ({"type": "array"}, "this array has no items"),
        ({"type": "map"}, "this map has no values"),
        (["int", ["null"]], "at /1: a union directly in a union"),
        (["int", "int"], 'the union has "int" already'),
        (["int", {"type": "int", "logicalType": "date"}], 'the union has "int" already'),
        ([ENUM, "E"], 'the union has "E" already'),
        (record(field("a", "b.Missing")), "at /fields/0/type: the type"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        parse(schema, is_new=False)


def test_a_name_may_be_used_before_it_is_defined() -> None:
    schema = parse(record(field("a", "Later"), field("b", record(name="Later"))))
    assert schema.canonical.index('"fields":[]') < schema.canonical.index('"name":"b"')


def test_names_are_looked_up_in_the_namespace_around_and_then_in_none() -> None:
    schema = [
        record(name="X"),
        record(field("x", "X"), name="a.Y"),
        record(name="a.Z"),
        record(field("z", "Z"), name="a.W"),
    ]
    canonical = parse(schema).canonical
    assert '{"name":"x","type":"X"}' in canonical
    assert '{"name":"z","type":"Z"}' in canonical
    assert parse(schema).document.types.keys() == {"X", "a.Y", "a.Z", "a.W"}


def test_an_enum_and_a_fixed_may_be_defined_twice_if_nothing_differs() -> None:
    fixed = {"type": "fixed", "name": "F", "size": 2}
    schema = record(field("a", ENUM), field("b", ENUM), field("c", fixed), field("d", fixed))
    assert '{"name":"b","type":"E"}' in parse(schema).canonical
    for other in (ENUM | {"symbols": ["A"]}, fixed | {"name": "E"}):
        with pytest.raises(InvalidSchema, match="E is defined already"):
            parse(record(field("a", ENUM), field("b", other)))


def test_what_references_define_is_known_and_not_defined_again() -> None:
    references = {
        "a.In": '{"type":"record","name":"a.In","fields":[{"name":"e","type":{"type":"fixed","name":"F","size":2}}]}'
    }
    schema = parse(record(field("x", "a.In"), field("y", "a.F")), references)
    assert schema.document.referred == {"a.In", "a.F"}
    with pytest.raises(InvalidSchema, match=r"a\.In is defined already"):
        parse(record(name="a.In"), references)
    with pytest.raises(InvalidSchema, match=r'"a\.Missing" is not defined'):
        parse("[]", {"x": '"a.Missing"'})


def chain(numbers: range) -> str:
    """Records of which each has the next one in it."""
    records = [f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n + 1}"}}]}}' for n in numbers]
    return f'[{",".join(records)},{{"type":"fixed","name":"R20000","size":1}}]'


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"array","items":' * 110 + '"int"' + "}" * 110,
        chain(range(20_000)),
        chain(range(19_999, -1, -1)),
    ],
)
def test_types_within_types_have_a_bound_however_they_are_written(text: str) -> None:
    with pytest.raises(InvalidSchema, match=f"deeper than {DEPTH_MAX}"):
        parse_document(text, ())


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


def test_what_may_be_nested_most_is_handled() -> None:
    schema: Any = record(field("f", "int", default=nested(VALUE_DEPTH_MAX), x=nested(VALUE_DEPTH_MAX)), name="R0")
    for level in range(1, DEPTH_MAX):
        schema = record(field("f", schema, default={}), name=f"R{level}")
    parsed = parse(schema, is_new=False)
    assert parse(parsed.normalised(), is_new=False).normalised() == parsed.normalised()
    assert parsed.compare(parsed) == ()
    parsed.decoder(parse(parsed.canonical.replace('"R0"', '"R0","x":1'), is_new=False))


@pytest.mark.parametrize("where", [{"default": nested(VALUE_DEPTH_MAX + 1)}, {"x": nested(VALUE_DEPTH_MAX + 1)}])
def test_values_in_a_schema_have_a_bound(where: Any) -> None:
    with pytest.raises(InvalidSchema, match=f"/fields/0/.*deeper than {VALUE_DEPTH_MAX}"):
        parse(record(field("f", "int", **where)), is_new=False)


def test_a_megabyte_of_schema_takes_seconds_at_most() -> None:
    schema = record(*(field(f"f{n}", ["null", "string"], default=None) for n in range(20_000)))
    start = time.process_time()
    parsed = parse(schema)
    assert len(parsed.canonical) > 1_000_000
    assert parse(parsed.canonical).compare(parsed) == ()
    parsed.normalised()
    assert time.process_time() - start < 10


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["record", "enum", "R", "int", "", "a.b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "fields", "symbols", "items", "aliases", "namespace", "size", "default"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_nonsense_is_refused_or_understood(value: object) -> None:
    try:
        schema = parse(value)
    except InvalidSchema:
        return
    assert parse(schema.canonical).canonical == schema.canonical


@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse(text)
    except InvalidSchema as error:
        assert str(error)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="half of a character"):
        parse(r'{"type":"string","doc":"","x":"\ud800"}')
