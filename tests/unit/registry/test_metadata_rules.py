import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.metadata_rules import check_rules, merge_metadata, merge_rule_sets

GOOD = {"name": "r", "type": "CEL", "mode": "WRITE"}


def test_newer_metadata_hold() -> None:
    old = {"properties": {"a": "1", "b": "1"}, "sensitive": ["a"]}
    new = {"properties": {"b": "2"}, "tags": {"t": ["x"]}}
    merged = {"properties": {"a": "1", "b": "2"}, "sensitive": ["a"], "tags": {"t": ["x"]}}
    assert merge_metadata(old, new) == merged
    assert merge_metadata(None, new) is new
    assert merge_metadata(old, None) is old


def test_of_two_rules_with_one_name_the_newer_holds() -> None:
    old = {"domainRules": [GOOD, {**GOOD, "name": "kept"}]}
    new = {"domainRules": [{**GOOD, "expr": "new"}], "migrationRules": []}
    merged = merge_rule_sets(old, new)
    assert merged == {"domainRules": [{**GOOD, "name": "kept"}, {**GOOD, "expr": "new"}], "migrationRules": []}


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        ("domainRules", [{**GOOD, "name": None}]),
        ("domainRules", [{**GOOD, "name": "1r"}]),
        ("domainRules", [{**GOOD, "name": "x" * 65}]),
        ("domainRules", [{**GOOD, "name": "a b"}]),
        ("domainRules", [{"name": "r", "mode": "WRITE"}]),
        ("domainRules", [{**GOOD, "mode": "UPGRADE"}]),
        ("migrationRules", [GOOD]),
        ("domainRules", [{**GOOD, "onFailure": "DLQ,NONE"}]),
        ("domainRules", [GOOD, GOOD]),
        ("domainRules", [{**GOOD, "kind": "WISH"}]),
    ],
)
def test_rules_that_nobody_could_carry_out_are_refused(kind: str, rules: object) -> None:
    with pytest.raises(RegistryError) as refused:
        check_rules({kind: rules})
    assert refused.value.code == 42210


def test_good_rules_pass() -> None:
    check_rules(None)
    check_rules({"domainRules": [GOOD, {**GOOD, "name": "both", "mode": "WRITEREAD", "onFailure": "DLQ,NONE"}]})
    check_rules({"migrationRules": [{**GOOD, "mode": "UPGRADE"}], "domainRules": [GOOD]})
