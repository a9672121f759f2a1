import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.lookup import look_up
from ottla.registry.registration import Registration
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.schema import Schema
from unit.registry.registries import Registry, parse


def ask(registry: Registry, text: str, *, deleted: bool = False, **asked: object) -> StoredSchema:
    wanted = Registration("a", Schema(text), **asked)  # type: ignore[arg-type]
    return look_up(registry.state, wanted, deleted=deleted, defaults=registry.defaults, parse=parse)


def test_a_schema_is_found_however_it_is_written() -> None:
    registry = Registry()
    first = registry.register("a", "x", "y")
    assert ask(registry, '[ "x",\n"y" ]') == first
    with pytest.raises(RegistryError) as refused:
        ask(registry, '["y", "x"]')
    assert (refused.value.code, refused.value.message) == (40403, "Schema not found")
    assert ask(registry, '["y", "x"]', normalises=True) == first


def test_what_is_deleted_is_found_on_request() -> None:
    registry = Registry()
    registry.register("a", "x", "y")
    registry.register("a", "x")
    registry.delete("a", 1)
    with pytest.raises(RegistryError):
        ask(registry, '["x", "y"]')
    assert ask(registry, '["x", "y"]', deleted=True).version == 1


def test_what_a_version_inherits_need_not_be_named() -> None:
    registry = Registry()
    first = registry.register("a", "x", metadata={"properties": {"owner": "me"}})
    assert ask(registry, '["x"]') == first


def test_subjects_that_nobody_knows_and_texts_that_are_no_schemas_are_told() -> None:
    registry = Registry()
    with pytest.raises(RegistryError) as refused:
        ask(registry, '["x"]')
    assert refused.value.code == 40401
    registry.register("a", "x")
    with pytest.raises(RegistryError) as refused:
        ask(registry, "{")
    assert refused.value.code == 42201
