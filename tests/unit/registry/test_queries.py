import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.queries import (
    LATEST,
    ContextId,
    Shown,
    find_guid,
    find_id,
    find_version,
    find_with_properties,
    list_aliases,
    list_ids_of_guid,
    list_referrers,
    list_subjects,
    list_versions,
    list_versions_of_id,
    read_version,
    resolve_alias,
    search_schemas,
)
from ottla.schemas.schema import Reference
from unit.registry.registries import Registry


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.configure(None, compatibilityLevel="NONE")
    made.register("a", "x")
    made.register("a", "y")
    made.register("b", "x")
    made.register(":.c:a", "z")
    made.register(":.c:only", "w")
    made.delete("b")
    return made


def code(request: object) -> int:
    with pytest.raises(RegistryError) as refused:
        request()  # type: ignore[operator]
    return refused.value.code


@pytest.mark.parametrize(("text", "version"), [("1", 1), ("latest", LATEST), ("-1", LATEST), ("2147483647", 2**31 - 1)])
def test_a_version_is_a_number_or_the_latest(text: str, version: int) -> None:
    assert read_version(text) == version


@pytest.mark.parametrize("text", ["", "0", "-2", "2147483648", "1" * 5000, "one", "1.0", " 1", "\u0661", "LATEST"])
def test_what_is_no_version_is_refused(text: str) -> None:
    assert code(lambda: read_version(text)) == 42202


def test_subjects_are_listed_by_prefix_in_their_context_or_in_all(registry: Registry) -> None:
    assert list_subjects(registry.state, "", Shown.ALIVE) == [":.c:a", ":.c:only", "a"]
    assert list_subjects(registry.state, "", Shown.ALL) == [":.c:a", ":.c:only", "a", "b"]
    assert list_subjects(registry.state, "", Shown.DELETED) == ["b"]
    assert list_subjects(registry.state, ":.c:", Shown.ALIVE) == [":.c:a", ":.c:only"]
    assert list_subjects(registry.state, ":*:a", Shown.ALIVE) == [":.c:a", "a"]


def test_versions_of_a_subject(registry: Registry) -> None:
    registry.delete("a", 1)
    assert [one.version for one in list_versions(registry.state, "a", Shown.ALIVE)] == [2]
    assert [one.version for one in list_versions(registry.state, "a", Shown.ALL)] == [1, 2]
    assert [one.version for one in list_versions(registry.state, "a", Shown.DELETED)] == [1]
    assert code(lambda: list_versions(registry.state, "b", Shown.ALIVE)) == 40401


def test_a_version_is_found_in_its_context_else_in_another(registry: Registry) -> None:
    assert find_version(registry.state, "a", LATEST).version == 2
    assert find_version(registry.state, "only", 1).subject == ":.c:only"
    assert code(lambda: find_version(registry.state, "a", 9)) == 40402
    assert code(lambda: find_version(registry.state, "nobody", 1)) == 40401
    assert code(lambda: find_version(registry.state, "b", LATEST)) == 40401
    assert find_version(registry.state, "b", 1, deleted=True).is_deleted


def test_an_id_is_looked_up_in_the_context_of_the_subject(registry: Registry) -> None:
    assert find_id(registry.state, 1).subject == "a"
    assert find_id(registry.state, 1, ":.c:").subject == ":.c:a"
    assert find_id(registry.state, 2, "only").subject == ":.c:only"
    assert find_id(registry.state, 2, "nobody").subject == "a"
    assert code(lambda: find_id(registry.state, 77)) == 40403
    assert code(lambda: find_id(registry.state, 3, ":.c:")) == 40403


def test_the_versions_that_have_an_id(registry: Registry) -> None:
    assert [one.subject for one in list_versions_of_id(registry.state, 1)] == ["a"]
    assert [one.subject for one in list_versions_of_id(registry.state, 1, deleted=True)] == ["a", "b"]


def test_a_guid_is_the_same_in_every_context(registry: Registry) -> None:
    guid = str(registry.register(":.c:b", "x").guid)
    assert list_ids_of_guid(registry.state, guid) == [ContextId(".", 1), ContextId(".c", 3)]
    assert find_guid(registry.state, guid).id == 1
    assert code(lambda: find_guid(registry.state, "no guid")) == 40403
    assert code(lambda: find_guid(registry.state, "00000000-0000-0000-0000-000000000000")) == 40403


def test_schemas_are_searched(registry: Registry) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL", "mode": "WRITE"}]}
    registry.register("a", "ruled", rule_set=rules)

    def found(**wanted: object) -> list[tuple[str, int]]:
        asked = {"latest_only": False, "rule_type": None} | wanted
        return [(one.subject, one.version) for one in search_schemas(registry.state, "a", Shown.ALIVE, **asked)]

    assert found() == [("a", 1), ("a", 2), ("a", 3)]
    assert found(latest_only=True) == [("a", 3)]
    assert found(rule_type="CEL") == [("a", 3)]
    assert found(rule_type="ENCRYPT") == []


def test_the_newest_version_with_some_properties(registry: Registry) -> None:
    for owner in ("me", "me", "you"):
        registry.register("p", owner, metadata={"properties": {"owner": owner, "n": str(len(registry.written))}})
    assert find_with_properties(registry.state, "p", {"owner": "me"}, deleted=False).version == 2
    assert code(lambda: find_with_properties(registry.state, "p", {"owner": "them"}, deleted=False)) == 40403
    assert code(lambda: find_with_properties(registry.state, "q", {"owner": "me"}, deleted=False)) == 40401


def test_who_refers_to_a_version(registry: Registry) -> None:
    referring = registry.register("r", "x", references=(Reference("A", "a", 1),))
    assert list_referrers(registry.state, find_version(registry.state, "a", 1)) == [referring.id]
    assert list_referrers(registry.state, find_version(registry.state, "a", 2)) == []
    registry.delete("r")
    assert list_referrers(registry.state, find_version(registry.state, "a", 1)) == []
    assert list_referrers(registry.state, find_version(registry.state, "a", 1), deleted=True) == [referring.id]


def test_an_alias_is_a_name_of_the_same_context(registry: Registry) -> None:
    registry.configure(":.c:nick", alias="a")
    registry.configure("nick", alias="")
    assert resolve_alias(registry.state, ":.c:nick") == ":.c:a"
    assert resolve_alias(registry.state, "nick") == "nick"
    assert resolve_alias(registry.state, "a") == "a"
    assert list_aliases(registry.state, ":*:") == {":.c:a": [":.c:nick"]}
    assert list_aliases(registry.state, "nick") == {}
