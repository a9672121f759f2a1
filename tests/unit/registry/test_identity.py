import hashlib
from uuid import UUID

from ottla.registry.identity import schema_guid
from ottla.schemas.schema import Reference, Schema


def test_the_guid_is_the_digest_of_text_references_metadata_and_rules() -> None:
    schema = Schema('"string"', references=(Reference("n", "s", 3),))
    metadata = {"tags": {"b": ["2", "1"], "a": []}, "properties": {"k": "v"}, "sensitive": ["z", "y"]}
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "params": {"p": "q"}, "disabled": True}
    expected = b'"string"' + b"ns\0\0\0\3" + b"\1ab12kvyz" + b"\1rCONDITIONWRITECELpq\1"
    assert schema_guid(schema, metadata, {"domainRules": [rule]}) == UUID(bytes=hashlib.md5(expected).digest())


def test_nothing_is_not_the_same_as_empty() -> None:
    schema = Schema('"string"')
    assert len({schema_guid(schema, None, None), schema_guid(schema, {}, None)}) == 2
