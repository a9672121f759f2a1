from pathlib import Path

import pytest

from ottla.cli.exits import CommandError, UsageError
from ottla.cli.schemas.schema_files import is_schema_file, load_schema
from ottla.schemas.schema import Reference, Schema, SchemaType


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("a.avsc", None, SchemaType.AVRO),
        ("a.JSON", None, SchemaType.JSON),
        ("a.proto", None, SchemaType.PROTOBUF),
        ("a.json", "avro", SchemaType.AVRO),
        ("a", "protobuf", SchemaType.PROTOBUF),
    ],
)
def test_the_type_is_given_or_that_of_the_suffix(
    tmp_path: Path, name: str, given: str | None, expected: SchemaType
) -> None:
    (tmp_path / name).write_text("text")
    assert load_schema(str(tmp_path / name), given) == Schema("text", expected)
    assert is_schema_file(name) is (name != "a")


def test_references_may_have_uris_as_names_and_colons_in_subjects(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    given = ["http://example.com/a.json?v=1=:.ctx:address:3"]
    (reference,) = load_schema(str(tmp_path / "a.json"), references=given).references
    assert reference == Reference("http://example.com/a.json?v=1", ":.ctx:address", 3)


@pytest.mark.parametrize("reference", ["", "a", "a=b", "a=:1", "=b:1", "a=b:latest", "a=b:²"])
def test_a_reference_that_is_none_is_refused_with_an_example(tmp_path: Path, reference: str) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UsageError, match="NAME=SUBJECT:VERSION"):
        load_schema(str(tmp_path / "a.json"), references=[reference])


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="UTF-8"):
        load_schema(str(tmp_path / "a.avsc"))
