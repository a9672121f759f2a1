import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.records import SchemaKey
from ottla.registry.registration import Registration
from ottla.schemas.schema import Reference, Schema, SchemaType
from unit.registry.registries import Registry


def refusal(registry: Registry, subject: str, *names: str, **asked: object) -> RegistryError:
    with pytest.raises(RegistryError) as refused:
        registry.register(subject, *names, **asked)
    return refused.value


def test_versions_count_by_subject_and_ids_by_context() -> None:
    registry = Registry()
    registry.register("a", "x", "y")
    registry.register("a", "x")
    registry.register("b", "z")
    found = [(one.subject, one.version, one.id) for name in ("a", "b") for one in registry.state.all_of(name)]
    assert found == [("a", 1, 1), ("a", 2, 2), ("b", 1, 3)]
    other = registry.register(":.other:a", "x")
    assert (other.version, other.id) == (1, 1)
    assert registry.state.contexts == [".", ".other"]


def test_the_same_schema_has_one_id_in_all_subjects_and_one_version_in_each() -> None:
    registry = Registry()
    first = registry.register("a", "x")
    assert registry.register("a", "x") == first
    assert len(registry.written) == 1
    again = registry.register("b", "x")
    assert (again.id, again.version, again.guid) == (first.id, 1, first.guid)


def test_metadata_and_rules_are_part_of_a_schema() -> None:
    registry = Registry()
    plain = registry.register("a", "x")
    marked = registry.register("b", "x", metadata={"properties": {"owner": "me"}})
    ruled = registry.register("c", "x", rule_set={"domainRules": [{"name": "r", "type": "CEL", "mode": "WRITE"}]})
    assert len({plain.id, marked.id, ruled.id}) == 3
    assert len({plain.guid, marked.guid, ruled.guid}) == 3


def test_a_version_inherits_metadata_and_rules_of_the_one_before_and_what_settings_impose() -> None:
    registry = Registry()
    registry.configure("a", overrideMetadata={"properties": {"team": "core"}})
    registry.register("a", "x", "y", metadata={"properties": {"owner": "me"}})
    second = registry.register("a", "x")
    assert second.metadata == {"properties": {"owner": "me", "team": "core"}}


def test_a_schema_that_cannot_read_the_newest_version_is_refused_with_the_reason() -> None:
    registry = Registry()
    registry.register("a", "x")
    error = refusal(registry, "a", "x", "y")
    assert (error.code, error.status) == (40901, 409)
    assert "errorType:'MISSING'" in error.message
    assert "at /y the new version 2 cannot read what version 1 writes" in error.message
    assert "{oldSchemaVersion: 1}" in error.message
    registry.configure("a", compatibilityLevel="none")
    assert registry.register("a", "x", "y").version == 2


def test_a_group_is_compared_with_its_own_versions() -> None:
    registry = Registry()
    registry.configure("a", compatibilityGroup="major")
    registry.register("a", "x", metadata={"properties": {"major": "1"}})
    registry.register("a", "y", metadata={"properties": {"major": "2"}})
    assert refusal(registry, "a", "y", metadata={"properties": {"major": "1"}}).code == 40901


def test_a_subject_does_not_change_its_type_unless_anything_goes() -> None:
    registry = Registry()
    registry.register("a", "x")
    as_json = Registration("a", Schema('["y"]', SchemaType.JSON))
    with pytest.raises(RegistryError, match="AVRO became JSON"):
        registry.ask(as_json)
    registry.configure("a", compatibilityLevel="NONE")
    assert registry.ask(as_json).version == 2


def test_a_text_that_is_a_schema_of_two_types_has_two_ids() -> None:
    """`{"type": "string"}` is one of Avro and of JSON Schema; the guid does not tell them apart."""
    registry = Registry()
    first = registry.register("a", "x")
    second = registry.ask(Registration("b", Schema('["x"]', SchemaType.JSON)))
    assert (first.id, second.id, second.schema.type) == (1, 2, SchemaType.JSON)
    assert registry.register("c", "x").id == first.id
    assert registry.ask(Registration("d", Schema('["x"]', SchemaType.JSON))).id == second.id
    for subject in ("a", "c"):
        registry.delete(subject)
        registry.delete(subject, is_permanent=True)
    assert registry.ask(Registration("e", Schema('["x"]', SchemaType.JSON))).id == second.id


def test_what_is_no_schema_is_refused() -> None:
    with pytest.raises(RegistryError, match="Invalid schema of type AVRO, details") as refused:
        Registry().ask(Registration("a", Schema("{")))
    assert refused.value.code == 42201
    with pytest.raises(RegistryError, match="Empty schema"):
        Registry().ask(Registration("a", Schema(" ")))


def test_a_registration_without_a_text_has_that_of_the_version_before() -> None:
    registry = Registry()
    registry.register("a", "x")
    second = registry.ask(Registration("a", Schema(""), metadata={"properties": {"owner": "me"}}))
    assert (second.version, second.schema.text) == (2, '["x"]')


@pytest.mark.parametrize("version", [3, 7])
def test_a_version_that_is_named_is_the_next_one(version: int) -> None:
    registry = Registry()
    registry.register("a", "x")
    assert registry.register("a", "x", version=2).metadata == {"properties": {"confluent:version": "2"}}
    if version == 3:
        assert registry.register("a", "x", version=version).version == 3
    else:
        assert "one more than" in refusal(registry, "a", "x", version=version).message


def test_modes_decide_who_gives_ids() -> None:
    registry = Registry()
    assert "is not in import mode" in refusal(registry, "a", "x", id=7).message
    registry.set_mode("a", "IMPORT")
    assert "is not in read-write mode" in refusal(registry, "a", "x").message
    imported = registry.register("a", "x", id=7, version=3)
    assert (imported.id, imported.version) == (7, 3)
    assert "Overwrite new schema with id 7" in refusal(registry, "a", "y", id=7).message
    registry.set_mode("a", "READONLY")
    error = refusal(registry, "a", "z")
    assert (error.code, error.message) == (42205, "Subject a in context . is in read-only mode")


def test_ids_go_on_after_the_highest_that_was_imported() -> None:
    registry = Registry()
    registry.set_mode("a", "IMPORT")
    registry.register("a", "x", id=100)
    assert registry.register("b", "y").id == 101


def test_a_schema_that_was_deleted_comes_back_as_a_new_version_with_its_id() -> None:
    registry = Registry()
    first = registry.register("a", "x")
    registry.delete("a")
    again = registry.register("a", "x")
    assert (again.version, again.id) == (2, first.id)
    assert registry.state.find("a", 1, deleted=True) is None, "a subject has an id once"


def test_references_are_kept_and_counted() -> None:
    registry = Registry()
    registry.register("base", "x")
    referring = registry.register("a", "y", references=(Reference("Base", "base", 1),))
    assert dict(registry.state.referrers[SchemaKey("base", 1)]) == {referring.key: referring.id}
