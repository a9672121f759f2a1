import pytest

from ottla.registry.deletion import delete_context
from ottla.registry.errors import RegistryError
from ottla.registry.queries import LATEST
from ottla.schemas.schema import Reference
from unit.registry.registries import Registry


def two_versions() -> Registry:
    registry = Registry()
    registry.register("a", "x", "y")
    registry.register("a", "x")
    return registry


def code(registry: Registry, *arguments: object, is_permanent: bool = False) -> int:
    with pytest.raises(RegistryError) as refused:
        registry.delete(*arguments, is_permanent=is_permanent)
    return refused.value.code


def test_a_subject_goes_softly_first_and_then_for_good() -> None:
    registry = two_versions()
    assert code(registry, "a", is_permanent=True) == 40405
    assert registry.delete("a") == [1, 2]
    assert list(registry.state.subjects()) == []
    assert list(registry.state.subjects(deleted=True)) == ["a"]
    found = registry.state.with_id(".", 1)
    assert found is not None, "records can still be read"
    assert code(registry, "a") == 40404
    assert registry.delete("a", is_permanent=True) == [1, 2]
    assert registry.state.with_id(".", 1) is None
    assert code(registry, "a") == 40401


def test_a_version_goes_softly_first_and_then_for_good() -> None:
    registry = two_versions()
    assert code(registry, "a", 2, is_permanent=True) == 40407
    assert registry.delete("a", 2) == 2
    assert [one.version for one in registry.state.all_of("a")] == [1]
    assert code(registry, "a", 2) == 40406
    assert registry.delete("a", 2, is_permanent=True) == 2
    assert code(registry, "a", 2) == 40402
    assert code(registry, "b", 1) == 40401


def test_ids_are_not_used_again() -> None:
    registry = two_versions()
    registry.delete("a")
    registry.delete("a", is_permanent=True)
    assert registry.register("b", "z").id == 3


def test_what_others_refer_to_stays() -> None:
    registry = Registry()
    registry.register("base", "x")
    registry.register("a", "y", references=(Reference("Base", "base", 1),))
    assert code(registry, "base") == 42206
    assert code(registry, "base", 1) == 42206
    registry.delete("a")
    assert registry.delete("base") == [1]


def test_references_of_a_context_mean_their_own_context() -> None:
    registry = Registry()
    registry.register(":.c:base", "x")
    registry.register(":.c:a", "y", references=(Reference("Base", "base", 1),))
    assert code(registry, ":.c:base") == 42206


@pytest.mark.parametrize("last", [(), (1,)])
def test_a_subject_keeps_its_settings_until_its_last_version_is_gone(last: tuple[int, ...]) -> None:
    registry = Registry()
    registry.register("a", "x")
    registry.configure("a", compatibilityLevel="FULL")
    registry.set_mode("a", "READWRITE")
    registry.delete("a", *last)
    assert registry.state.configs["a"] == {"compatibilityLevel": "FULL"}
    registry.delete("a", *last, is_permanent=True)
    assert "a" not in registry.state.configs
    assert "a" not in registry.state.modes


def test_the_latest_version_is_the_newest_that_is_not_deleted() -> None:
    registry = two_versions()
    assert registry.delete("a", LATEST) == 2
    assert registry.delete("a", LATEST) == 1
    assert code(registry, "a", LATEST) == 40402


def test_a_context_goes_when_it_has_no_subjects_and_its_settings_with_it() -> None:
    registry = Registry()
    registry.register(":.c:a", "x")
    registry.configure(":.c:", compatibilityLevel="FULL")
    with pytest.raises(RegistryError) as refused:
        delete_context(registry.state, ".c")
    assert refused.value.code == 42211
    registry.delete(":.c:a")
    with pytest.raises(RegistryError):
        delete_context(registry.state, ".c")
    registry.delete(":.c:a", is_permanent=True)
    registry.carry_out(delete_context(registry.state, ".c"))
    assert registry.state.contexts == ["."]
    assert registry.state == registry.read_again()
    assert not registry.state.configs


def test_nothing_is_deleted_in_read_only_mode() -> None:
    registry = two_versions()
    registry.set_mode(None, "READONLY_OVERRIDE")
    registry.set_mode("a", "READWRITE")
    assert code(registry, "a") == 42205
    assert code(registry, "a", 1) == 42205
