from typing import Any

import pytest

from ottla.registry.contract_fields import WrongShape, read_config, read_metadata, read_rule_set


def test_what_fits_is_kept_with_fields_of_newer_releases() -> None:
    metadata = {"tags": {"a": ["PII"]}, "properties": {"owner": "me"}, "sensitive": ["owner"], "new": [{"x": 1}]}
    assert read_metadata(metadata) == metadata
    config = {"compatibilityLevel": "FULL", "normalize": True, "alias": None, "defaultMetadata": metadata, "new": 1}
    assert read_config(config) == config
    assert read_metadata(None) is None


def test_numbers_and_truth_values_become_texts_where_texts_belong() -> None:
    assert read_metadata({"properties": {"a": 1, "b": True, "c": 1.5}}) == {
        "properties": {"a": "1", "b": "true", "c": "1.5"}
    }


def test_rules_have_a_kind_and_a_mode() -> None:
    rule = {"name": "r", "type": "CEL"}
    assert read_rule_set({"domainRules": [rule]}) == {
        "domainRules": [{**rule, "kind": "TRANSFORM", "mode": "WRITEREAD"}]
    }
    full = {**rule, "kind": "CONDITION", "mode": "WRITE", "tags": ["PII"], "params": {"a": "b"}, "disabled": False}
    assert read_rule_set({"migrationRules": [full], "encodingRules": None}) == {
        "migrationRules": [full],
        "encodingRules": None,
    }


@pytest.mark.parametrize(
    "given", [[], 1, "x", {"tags": []}, {"tags": {"a": "x"}}, {"properties": {"a": None}}, {"sensitive": {}}]
)
def test_what_is_no_metadata_is_refused(given: Any) -> None:
    with pytest.raises(WrongShape, match="metadata"):
        read_metadata(given)


@pytest.mark.parametrize(
    "given",
    [
        [],
        {"domainRules": {}},
        {"domainRules": ["rule"]},
        {"domainRules": [{"name": ["r"]}]},
        {"domainRules": [{"tags": "PII"}]},
        {"domainRules": [{"params": []}]},
        {"domainRules": [{"disabled": "no"}]},
    ],
)
def test_what_are_no_rules_is_refused(given: Any) -> None:
    with pytest.raises(WrongShape, match="ruleSet"):
        read_rule_set(given)


@pytest.mark.parametrize(
    "given", [[], {"normalize": "yes"}, {"alias": []}, {"defaultMetadata": 3}, {"overrideRuleSet": {"domainRules": 3}}]
)
def test_what_are_no_settings_is_refused(given: Any) -> None:
    with pytest.raises(WrongShape):
        read_config(given)
