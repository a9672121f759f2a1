import json
import random
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.avro.schemas import SchemaMaker, evolve, make_value
from ottla.schemas.avro.fastavro_form import form_of
from ottla.schemas.avro.resolution import VALUE, resolve
from ottla.schemas.errors import InvalidSchema, SchemaError, UnreadableData
from unit.schemas.avro.schemas import field, parse, record


def read(writer: Any, reader: Any, value: Any) -> Any:
    written = parse(writer)
    return written.decoder(parse(reader))(written.encoder()(value))


@pytest.mark.parametrize(
    ("writer", "reader", "value", "seen"),
    [
        ('"int"', '"double"', 1, 1.0),
        ('"string"', '"bytes"', "a", b"a"),
        ('"int"', '["double","long","int"]', 1, 1),
        ('"int"', '["string","float"]', 1, 1.0),
        ('["string","bytes"]', '["bytes","string","null"]', b"\xff", b"\xff"),
        ('["string","bytes","int"]', '["bytes","string","double"]', b"\xff", b"\xff"),
        ('["string","bytes","int"]', '["bytes","string","double"]', "a", "a"),
        ('["string","bytes","int"]', '["bytes","string","double"]', 1, 1.0),
        ('["null","int"]', '"double"', 1, 1.0),
        ({"type": "array", "items": "int"}, {"type": "array", "items": ["null", "double"]}, [1], [1.0]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "double"}, {"k": 1}, {"k": 1.0}),
        (record(field("a", "int"), field("b", "int")), record(field("b", "int")), {"a": 1, "b": 2}, {"b": 2}),
        (record(field("a", "int")), record(field("b", "int", aliases=["a"])), {"a": 1}, {"b": 1}),
        (record(name="Old"), record(name="New", aliases=["Old"]), {}, {}),
        (record(), record(field("b", "bytes", default="\u00ff")), {}, {"b": b"\xff"}),
        (record(), record(field("d", {"type": "int", "logicalType": "date"}, default=1)), {}, {"d": date(1970, 1, 2)}),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["C"], "default": "C"},
            "A",
            "C",
        ),
        (
            [record(field("x", "int"), name="a.R"), record(field("x", "int"), name="b.R")],
            [
                record(field("x", "float"), name="b.R"),
                record(field("x", "int"), field("y", "int", default=1), name="a.R"),
            ],
            ("a.R", {"x": 1}),
            {"x": 1, "y": 1},
        ),
        (
            record(field("next", ["null", "R"]), field("x", "int")),
            record(field("x", "double"), field("next", ["null", "R"])),
            {"next": {"next": None, "x": 1}, "x": 2},
            {"next": {"next": None, "x": 1.0}, "x": 2.0},
        ),
    ],
)
def test_a_reader_sees_its_own_types(writer: Any, reader: Any, value: Any, seen: Any) -> None:
    result = read(writer, reader, value)
    assert result == seen
    assert repr(result) == repr(seen) or isinstance(seen, dict)


def test_a_branch_that_nobody_reads_is_refused_when_it_comes() -> None:
    assert read('["null","string","int"]', '["null","double"]', None) is None
    assert read('["null","string","int"]', '["null","double"]', 1) == 1.0
    with pytest.raises(UnreadableData):
        read('["null","string","int"]', '["null","double"]', "a")


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ('"int"', '"string"'),
        ('"int"', '["string","null"]'),
        ('["int"]', '"string"'),
        (record(name="A"), record(name="B")),
        (record(), record(field("a", "int"))),
        ({"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}),
    ],
)
def test_what_cannot_be_read_is_told_at_once(writer: Any, reader: Any) -> None:
    with pytest.raises(SchemaError):
        parse(writer).decoder(parse(reader))


def test_named_types_of_references_are_resolved() -> None:
    old = {"In": '{"type":"record","name":"In","fields":[{"name":"x","type":"int"}]}'}
    new = {"In": '{"type":"record","name":"In","fields":[{"name":"x","type":"double"}]}'}
    schema = record(field("in", "In"))
    written = parse(schema, old)
    data = written.encoder()({"in": {"x": 1}})
    assert written.decoder(parse(schema, new))(data) == {"in": {"x": 1.0}}
    assert written.decoder(parse(schema, old))(data) == {"in": {"x": 1}}


def test_what_is_seen_as_written_has_no_form() -> None:
    written, seen = resolve(parse('["null","string"]').document, parse('["string","null","int"]').document)
    assert [one["type"] for one in seen["fields"]] == [None]
    assert written["fields"][0] == {"name": VALUE, "type": form_of(parse('["null","string"]').document)}


@settings(max_examples=400)
@given(st.integers(0, 2**32), st.booleans())
def test_a_pair_that_is_judged_compatible_reads(seed: int, is_forward: bool) -> None:
    chance = random.Random(seed)
    schema = SchemaMaker(chance).make()
    pair = [schema, evolve(chance, schema)]
    try:
        writer, reader = (parse(json.dumps(one)) for one in (pair if is_forward else reversed(pair)))
        encode, decode = writer.encoder(), writer.decoder()
    except InvalidSchema:
        return
    if reader.compare(writer):
        return
    decode_as_reader = writer.decoder(reader)
    for _ in range(3):
        value = make_value(chance, writer.document, writer.document.root)
        data = encode(value)
        decode(data)
        decode_as_reader(data)
