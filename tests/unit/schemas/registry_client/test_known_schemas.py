import pytest

from ottla.schemas.errors import InvalidReference, InvalidSchema
from ottla.schemas.registry_client import known_schemas
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.schema import Reference, Schema
from unit.schemas.registry_client.texts import AVRO, EVERY

BAD_DEFAULT = Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}')


@pytest.mark.parametrize("kind", EVERY)
def test_a_schema_is_read_once(known: KnownSchemas, kind: str) -> None:
    assert known.parse(EVERY[kind]) is known.parse(EVERY[kind])


def test_what_a_schema_refers_to_comes_from_the_registry(client: RegistryClient, known: KnownSchemas) -> None:
    client.register("known-inner", AVRO)
    reference = Reference("R", "known-inner", 1)
    schema = Schema('{"type":"array","items":"R"}', references=(reference,))
    client.register("known-outer", schema)
    assert known.parsed(client.version("known-outer")).decoder()(b"\x02\x0a\x00") == [{"a": 5}]
    with pytest.raises(InvalidReference, match="which does not exist"):
        known.parse(Schema('"R"', references=(Reference("R", "known-nobody", 1),)))


def test_a_schema_is_judged_as_new_only_if_it_is(known: KnownSchemas) -> None:
    known.parse(BAD_DEFAULT)
    with pytest.raises(InvalidSchema, match="default"):
        known.parse(BAD_DEFAULT, is_new=True)


def test_there_is_a_bound_for_what_is_kept(known: KnownSchemas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_schemas, "KEPT_MAX", 2)
    first, second, third = (Schema(f'"{kind}"') for kind in ("int", "long", "string"))
    before = [known.parse(one) for one in (first, second, first, third)]
    assert known.parse(first) is before[0]
    assert known.parse(second) is not before[1]
