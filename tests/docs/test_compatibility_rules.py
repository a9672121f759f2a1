"""Every rule in the reference of compatibility is one that the schemas beside it break."""

import re

import pytest

from harness.documents import ROOT
from ottla.schemas.format import format_of
from ottla.schemas.schema import SchemaType

PAGE = (ROOT / "docs" / "reference" / "schema-compatibility.md").read_text(encoding="utf-8")
SECTIONS = {"Avro": SchemaType.AVRO, "JSON Schema": SchemaType.JSON, "Protobuf": SchemaType.PROTOBUF}
ROW = re.compile(r"^\| ([A-Z_]+) \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)


def examples() -> list[tuple[SchemaType, str, str, str]]:
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title in SECTIONS:
            found += [(SECTIONS[title], *row) for row in ROW.findall(text)]
    return found


EXAMPLES = examples()


def test_each_format_has_its_rules() -> None:
    counts = {schema_type: sum(one[0] is schema_type for one in EXAMPLES) for schema_type in SECTIONS.values()}
    assert counts == {SchemaType.AVRO: 6, SchemaType.JSON: 47, SchemaType.PROTOBUF: 11}


@pytest.mark.parametrize(
    ("schema_type", "rule", "reader", "writer"), EXAMPLES, ids=[f"{one[0]} {one[1]}" for one in EXAMPLES]
)
def test_the_example_breaks_the_rule(schema_type: SchemaType, rule: str, reader: str, writer: str) -> None:
    schemas = format_of(schema_type)
    findings = schemas.parse(reader, {}).compare(schemas.parse(writer, {}))
    assert rule in [finding.rule for finding in findings]


def test_numbers_of_avro_are_promoted_and_those_of_protobuf_exchanged_as_the_page_says() -> None:
    avro, protobuf = format_of(SchemaType.AVRO), format_of(SchemaType.PROTOBUF)
    for writer, readers in {
        "int": ("long", "float", "double"),
        "long": ("float", "double"),
        "float": ("double",),
        "string": ("bytes",),
        "bytes": ("string",),
    }.items():
        for reader in readers:
            assert not avro.parse(f'"{reader}"', {}).compare(avro.parse(f'"{writer}"', {}))
    for kinds in (
        ("int32", "int64", "uint32", "uint64", "bool"),
        ("sint32", "sint64"),
        ("string", "bytes"),
        ("fixed32", "sfixed32"),
        ("fixed64", "sfixed64"),
    ):
        files = [protobuf.parse(f'syntax = "proto3"; message M {{ {kind} a = 1; }}', {}) for kind in kinds]
        for reader in files:
            assert not any(reader.compare(writer) for writer in files)
