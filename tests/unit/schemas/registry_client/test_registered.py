from typing import Any
from uuid import UUID

import pytest

from ottla.schemas.registry_client.errors import UnexpectedAnswer
from ottla.schemas.registry_client.registered import RegisteredSchema, read_registered, schema_fields
from ottla.schemas.schema import Reference, Schema, SchemaType

GUID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"


def test_an_answer_is_read_with_all_that_it_tells() -> None:
    fields = {
        "subject": "s",
        "version": 3,
        "id": 7,
        "guid": GUID,
        "schemaType": "JSON",
        "schema": "true",
        "references": [{"name": "n", "subject": "other", "version": 1}],
        "metadata": {"properties": {}},
        "ruleSet": {"domainRules": []},
        "ts": 5,
    }
    schema = Schema("true", SchemaType.JSON, (Reference("n", "other", 1),))
    assert read_registered(fields) == RegisteredSchema(
        schema, 7, UUID(GUID), "s", 3, {"properties": {}}, {"domainRules": []}
    )


def test_an_answer_about_an_id_does_not_repeat_it_and_avro_is_not_named() -> None:
    assert read_registered({"schema": '"int"'}, 7) == RegisteredSchema(Schema('"int"'), 7)


@pytest.mark.parametrize(
    "fields",
    [
        *([], "text", None, {}, {"schema": 5}, {"schema": "", "schemaType": "XML"}, {"schema": "", "guid": "x"}),
        *({"schema": "", "references": 5}, {"schema": "", "references": [{}]}, {"schema": "", "id": "x"}),
    ],
)
def test_what_is_no_schema_is_told(fields: Any) -> None:
    with pytest.raises(UnexpectedAnswer, match="is no schema"):
        read_registered(fields)


def test_requests_carry_type_and_references() -> None:
    schema = Schema("true", SchemaType.JSON, (Reference("n", "other", 1),))
    assert schema_fields(schema) == {
        "schema": "true",
        "schemaType": "JSON",
        "references": [{"name": "n", "subject": "other", "version": 1}],
    }


def test_a_schema_is_described_by_what_is_known_of_it() -> None:
    schema = Schema('"int"')
    assert str(RegisteredSchema(schema, 7, UUID(GUID), "s", 3)) == "AVRO schema (version 3 of s, id 7)"
    assert str(RegisteredSchema(schema, guid=UUID(GUID))) == f"AVRO schema (guid {GUID})"
