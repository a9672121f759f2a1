"""Metadata, rules and settings as JSON has them: which fields there are, and what may stand in each.

Requests and records of the topic are both read with this, so that what decides need not doubt what it gets. Fields that
are not known are kept, since newer releases have more. Where a text belongs, a number or a truth value becomes one, as
in Confluent's registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ottla.registry.identity import KINDS_OF_RULES, Json

# What a rule has that does not say so.
_DEFAULT_KIND: Final = "TRANSFORM"
_DEFAULT_MODE: Final = "WRITEREAD"


class WrongShape(ValueError):
    """Something stands where it does not belong; the message says what and where."""


_Read = Callable[[Any, str], Any]


def read_metadata(given: Any, where: str = "metadata") -> Json | None:
    """WrongShape if it is none."""
    return None if given is None else _read_fields(given, where, _METADATA)


def read_rule_set(given: Any, where: str = "ruleSet") -> Json | None:
    """WrongShape if it is none. Rules get the kind and the mode that they have by default."""
    return None if given is None else _read_fields(given, where, _RULE_SET)


def read_config(given: Any) -> Json:
    """WrongShape if it is none. What is null stays null, since that takes a setting away."""
    return _read_fields(given, "config", _CONFIG)


def kind_of(value: object) -> str:
    """For messages."""
    names = {
        dict: "a JSON object",
        list: "a list",
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "a truth value",
    }
    return names.get(type(value), "null")


# -- fields -----------------------------------------------------------------------------------------------------------


def _read_fields(given: Any, where: str, known: Mapping[str, _Read]) -> Json:
    if not isinstance(given, dict):
        raise WrongShape(f"{where} is {kind_of(given)}, not a JSON object")
    return {
        name: value if value is None or name not in known else known[name](value, f"{where}.{name}")
        for name, value in given.items()
    }


def _read_text(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise WrongShape(f"{where} is {kind_of(value)}, not a text")
    return value


def _read_flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise WrongShape(f"{where} is {kind_of(value)}, not true or false")
    return value


def _read_texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list):
        raise WrongShape(f"{where} is {kind_of(value)}, not a list of texts")
    return [_read_text(one, where) for one in value]


def _read_text_by_name(value: Any, where: str) -> dict[str, str]:
    return _read_each(value, where, _read_text)


def _read_texts_by_name(value: Any, where: str) -> dict[str, list[str]]:
    return _read_each(value, where, _read_texts)


def _read_each(value: Any, where: str, read: _Read) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongShape(f"{where} is {kind_of(value)}, not a JSON object")
    return {name: read(one, f"{where}.{name}") for name, one in value.items()}


def _read_rules(value: Any, where: str) -> list[Json]:
    if not isinstance(value, list):
        raise WrongShape(f"{where} is {kind_of(value)}, not a list of rules")
    return [_read_rule(one, f"{where}[{place}]") for place, one in enumerate(value)]


def _read_rule(value: Any, where: str) -> Json:
    rule = dict(_read_fields(value, where, _RULE))
    for name, default in (("kind", _DEFAULT_KIND), ("mode", _DEFAULT_MODE)):
        if rule.get(name) is None:
            rule[name] = default
    return rule


_METADATA: Final[Mapping[str, _Read]] = {
    "tags": _read_texts_by_name,
    "properties": _read_text_by_name,
    "sensitive": _read_texts,
}
_RULE: Final[Mapping[str, _Read]] = {
    **dict.fromkeys(("name", "doc", "kind", "mode", "type", "expr", "onSuccess", "onFailure"), _read_text),
    "tags": _read_texts,
    "params": _read_text_by_name,
    "disabled": _read_flag,
}
_RULE_SET: Final[Mapping[str, _Read]] = dict.fromkeys(KINDS_OF_RULES, _read_rules)
_CONFIG: Final[Mapping[str, _Read]] = {
    **dict.fromkeys(("compatibilityLevel", "compatibilityPolicy", "compatibilityGroup", "alias"), _read_text),
    **dict.fromkeys(("normalize", "validateFields", "validateRules"), _read_flag),
    **dict.fromkeys(("defaultMetadata", "overrideMetadata"), read_metadata),
    **dict.fromkeys(("defaultRuleSet", "overrideRuleSet"), read_rule_set),
}
