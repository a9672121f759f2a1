import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.scopes import Defaults, Mode, config_in_scope, level_in_scope, mode_in_scope
from ottla.registry.setting_changes import delete_config, delete_mode
from unit.registry.registries import Registry


def test_the_narrowest_scope_holds_field_by_field() -> None:
    registry = Registry()
    subject = ":.c:a"
    assert level_in_scope(registry.state, subject, registry.defaults) == "BACKWARD"
    registry.configure(None, compatibilityLevel="FULL", normalize=True)
    registry.configure(":.c:", compatibilityLevel="forward")
    assert level_in_scope(registry.state, subject, registry.defaults) == "FORWARD"
    registry.configure(subject, alias="b")
    assert config_in_scope(registry.state, subject, registry.defaults) == {
        "compatibilityLevel": "FORWARD",
        "normalize": True,
        "alias": "b",
    }
    assert level_in_scope(registry.state, "other", registry.defaults) == "FULL"


def test_settings_of_a_subject_can_be_taken_away() -> None:
    registry = Registry()
    registry.configure("a", compatibilityLevel="NONE")
    assert registry.carry_out(delete_config(registry.state, "a", registry.defaults)) == {"compatibilityLevel": "NONE"}
    with pytest.raises(RegistryError) as refused:
        delete_config(registry.state, "a", registry.defaults)
    assert refused.value.code == 40401
    registry.set_mode("a", "READONLY")
    assert registry.carry_out(delete_mode(registry.state, "a", registry.defaults)) is Mode.READONLY
    with pytest.raises(RegistryError) as refused:
        delete_mode(registry.state, "a", registry.defaults)
    assert refused.value.code == 40401


def test_modes_of_a_context_can_be_taken_away_with_those_of_its_subjects() -> None:
    registry = Registry()
    for scope in ("a", ":.c:", ":.c:a", ":.c:b"):
        registry.set_mode(scope, "READONLY")
    assert (
        registry.carry_out(delete_mode(registry.state, ":.c:", registry.defaults, is_recursive=True)) is Mode.READONLY
    )
    assert set(registry.state.modes) == {"a"}
    assert registry.carry_out(delete_mode(registry.state, ":.c:", registry.defaults, is_recursive=True)) is None
    assert registry.carry_out(delete_mode(registry.state, None, registry.defaults, is_recursive=True)) is Mode.READWRITE
    assert not registry.state.modes


def test_an_alias_is_the_name_of_a_subject() -> None:
    with pytest.raises(RegistryError) as refused:
        Registry().configure("a", alias="\0")
    assert refused.value.code == 42208


@pytest.mark.parametrize("mode", ["", "WRITE", 3, None])
def test_what_is_no_mode_is_refused(mode: object) -> None:
    with pytest.raises(RegistryError) as refused:
        Registry().set_mode(None, mode)  # type: ignore[arg-type]
    assert refused.value.code == 42204


def test_what_is_no_level_is_refused() -> None:
    with pytest.raises(RegistryError) as refused:
        Registry().configure(None, compatibilityLevel="SOMETIMES")
    assert refused.value.code == 42203


def test_a_registry_with_subjects_does_not_import_unless_it_is_forced() -> None:
    registry = Registry()
    registry.register("a", "x")
    for scope in (None, "a", ":.:"):
        with pytest.raises(RegistryError, match="found existing subjects"):
            registry.set_mode(scope, "IMPORT")
    registry.set_mode(":.other:", "IMPORT")
    registry.delete("a")
    registry.set_mode(None, "IMPORT")
    assert registry.state.find("a", 1, deleted=True) is None, "what was deleted is forgotten"
    registry.set_mode("a", "READWRITE")
    registry.register("a", "x")
    registry.set_mode("a", "IMPORT", is_forced=True)
    assert mode_in_scope(registry.state, "a") is Mode.IMPORT


def test_modes_may_be_fixed() -> None:
    registry = Registry(defaults=Defaults(allows_mode_changes=False))
    with pytest.raises(RegistryError, match="not allowed"):
        registry.set_mode(None, "READONLY")


def test_settings_that_impose_impossible_rules_are_refused() -> None:
    with pytest.raises(RegistryError, match="duplicate name") as refused:
        rule = {"name": "r", "type": "CEL", "mode": "WRITE"}
        Registry().configure(None, overrideRuleSet={"domainRules": [rule, rule]})
    assert refused.value.code == 42210
