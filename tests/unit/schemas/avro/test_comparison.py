"""The rules one by one; tests/interop/test_avro_rules.py has Java judge thousands of pairs."""

import time
from typing import Any

import pytest

from ottla.schemas.avro.comparison import FINDINGS_MAX
from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding
from unit.schemas.avro.schemas import field, parse, record


def findings(reader: Any, writer: Any) -> list[tuple[str, str, str]]:
    found = parse(reader, is_new=False).compare(parse(writer, is_new=False))
    return [(finding.rule, finding.path, finding.detail) for finding in found]


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ('"long"', '"int"'),
        ('"float"', '"long"'),
        ('"double"', '"float"'),
        ('"bytes"', '"string"'),
        ('"string"', '"bytes"'),
        ('["null","long"]', '"int"'),
        ('"int"', '["int"]'),
        ('["string","null","int"]', '["null","string"]'),
        ('"int"', "[]"),
        ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}),
        ({"type": "map", "values": "long"}, {"type": "map", "values": "int"}),
        (enum("A", "B"), enum("B")),
        (enum("A", default="A"), enum("B")),
        (record(name="a.R"), record(name="b.R")),
        (record(name="New", aliases=["Old"]), record(name="Old")),
        (record(name="a.New", aliases=["b.Old"]), record(name="b.Old")),
        (record(field("new", "int", aliases=["old"])), record(field("old", "int"))),
        (record(field("a", "int", default=1)), record(field("b", "int"))),
        (record(field("next", ["null", "R"])), record(field("next", ["null", "R"]))),
    ],
)
def test_what_a_reader_takes(reader: Any, writer: Any) -> None:
    assert findings(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "found"),
    [
        ('"int"', '"long"', ("TYPE_MISMATCH", "/", "reader type: INT not compatible with writer type: LONG")),
        (record(name="A"), record(name="x.B"), ("NAME_MISMATCH", "/name", "expected: x.B")),
        (fixed(2), fixed(3), ("FIXED_SIZE_MISMATCH", "/size", "expected: 3, found: 2")),
        (enum("A"), enum("C", "A", "B"), ("MISSING_ENUM_SYMBOLS", "/symbols", "[B, C]")),
        (
            record(field("x", "int"), field("y", "int")),
            record(field("x", "int")),
            ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1", "y"),
        ),
        (
            record(field("x", enum("A", default="A"))),
            record(),
            ("TYPE_MISMATCH", "/fields/0/type", "reader type: ENUM not compatible with writer type: RECORD"),
        ),
        (
            record(field("x", {"type": "map", "values": {"type": "array", "items": ["int"]}})),
            record(field("x", {"type": "map", "values": {"type": "array", "items": ["int", "string"]}})),
            ("MISSING_UNION_BRANCH", "/fields/0/type/values/items/1", "reader union lacking writer type: STRING"),
        ),
        ('["null"]', '"int"', ("MISSING_UNION_BRANCH", "/", "reader union lacking writer type: INT")),
        ('"int"', '["int","null"]', ("TYPE_MISMATCH", "/1", "reader type: INT not compatible with writer type: NULL")),
        (
            record(field("x", "int", aliases=["y"])),
            record(field("x", "int"), field("y", "int")),
            ("NAME_MISMATCH", "/fields/0", "field x is several fields of the writer by its aliases: x, y"),
        ),
    ],
)
def test_what_it_does_not(reader: Any, writer: Any, found: tuple[str, str, str]) -> None:
    assert findings(reader, writer) == [found]


def test_a_finding_shows_both_sides() -> None:
    (finding,) = parse(record(field("x", enum("A")))).compare(parse(record(field("x", fixed(2)))))
    assert finding == Finding(
        "TYPE_MISMATCH",
        "/fields/0/type",
        "reader type: ENUM not compatible with writer type: FIXED",
        reader="enum E",
        writer="fixed F",
    )


def test_one_fault_that_is_met_along_many_ways_is_told_once() -> None:
    def tower(leaf: str) -> Any:
        schema: Any = record(field("x", leaf), name="R0")
        for level in range(1, 40):
            schema = record(field("a", schema), field("b", f"R{level - 1}"), name=f"R{level}")
        return schema

    start = time.process_time()
    assert len(findings(tower("int"), tower("string"))) == 1
    assert time.process_time() - start < 5


def test_there_are_only_so_many_findings() -> None:
    reader = record(*(field(f"f{n}", "int") for n in range(FINDINGS_MAX + 5)))
    assert len(findings(reader, record())) == FINDINGS_MAX


def ring(length: int, kind: str) -> str:
    """Records of which each has the next one in it, and the last the first; they differ in their namespaces alone."""
    records = [record(field("f", ["null", f"N{(n + 1) % length}.{kind}"]), name=f"N{n}.{kind}") for n in range(length)]
    return parse(records).canonical


def test_types_that_are_entangled_end() -> None:
    """Both sides have one name, so that every record of one is compared with every record of the other."""
    start = time.process_time()
    assert findings(ring(20, "R"), ring(21, "R")) == []
    with pytest.raises(InvalidSchema, match="pairs of types to compare"):
        findings(ring(47, "R"), ring(48, "R"))
    assert time.process_time() - start < 10


def test_a_union_of_many_records_takes_no_time() -> None:
    schema = [record(*(field(f"f{m}", "int") for m in range(20)), name=f"R{n}") for n in range(300)]
    start = time.process_time()
    assert findings(schema, schema) == []
    assert time.process_time() - start < 5
