"""Checks of objects and arrays."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ottla.schemas.json_schema.checks import Check, Evaluation, Failure, KeywordCheck, State, identity_of, plain
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.drafts import DRAFT_2020_12, escape
from ottla.schemas.json_schema.scalar_checks import is_limit, searcher

if TYPE_CHECKING:
    from ottla.schemas.json_schema.compiler import Compiler


def add_objects(compiler: Compiler, place: Place, check: Check) -> None:
    schema = place.contents
    properties = _enter_map(compiler, place, "properties")
    defaults = {
        name: plain(each["default"])
        for name, each in _object(schema.get("properties")).items()
        if isinstance(each, dict) and "default" in each
    }
    if defaults:
        check.parts.append(_fill(defaults))
    if isinstance(schema.get("required"), list):
        check.parts.append(_check_required(schema["required"], defaults, place))
    for keyword in ("maxProperties", "minProperties"):
        if is_limit(schema.get(keyword)):
            check.parts.append(_check_size(keyword, int(schema[keyword]), dict, place))
    if properties:
        check.parts.append(_check_properties(properties))
        check.evaluations.append(lambda value, _: properties.keys() & value if isinstance(value, dict) else set())
    _add_patterns_and_more(compiler, place, check, properties)
    if "propertyNames" in schema and "propertyNames" in place.draft.keywords:
        check.parts.append(_check_names(compiler.check_of(place.enter("propertyNames", schema["propertyNames"]))))
    _add_dependencies(compiler, place, check)


def _add_patterns_and_more(compiler: Compiler, place: Place, check: Check, properties: dict[str, Check]) -> None:
    patterns = [
        (searcher(pattern, place), each) for pattern, each in _enter_map(compiler, place, "patternProperties").items()
    ]
    if patterns:
        check.parts.append(_check_patterns(patterns))
        check.evaluations.append(
            lambda value, _: (
                {name for name in value if any(search(name) for search, _ in patterns)}
                if isinstance(value, dict)
                else set()
            )
        )
    if isinstance(place.contents.get("additionalProperties"), bool | dict):
        more = place.enter("additionalProperties", place.contents["additionalProperties"])
        if more.contents is not True:
            check.parts.append(_check_more(properties, patterns, compiler.check_of(more)))
        check.evaluations.append(lambda value, _: set(value) if isinstance(value, dict) else set())


def _fill(defaults: dict[str, Any]) -> KeywordCheck:
    def fill(value: Any, state: State) -> None:
        if state.fills and isinstance(value, dict):
            for name, default in defaults.items():
                if name not in value:
                    value[name] = deepcopy(default)

    return fill


def _check_required(required: list[str], defaults: dict[str, Any], place: Place) -> KeywordCheck:
    rule = f"required at {place.path}"

    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, dict):
            for name in required:
                if name not in value and not (state.is_reading and name in defaults):
                    return Failure(rule, f"property {name!r} is missing")
        return None

    return check


def _check_size(keyword: str, limit: int, container: type[Any] | tuple[type[Any], ...], place: Place) -> KeywordCheck:
    rule = f"{keyword} at {place.path}"
    is_upper = keyword.startswith("max")

    def check(value: Any, _state: State) -> Failure | None:
        if not isinstance(value, container) or len(value) == limit or (len(value) < limit) == is_upper:
            return None
        return Failure(rule, f"{len(value)} are too {'many' if is_upper else 'few'} for {limit}")

    return check


def _check_properties(properties: dict[str, Check]) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, dict):
            for name, check_property in properties.items():
                if name in value:
                    failure = check_property(value[name], state)
                    if failure is not None:
                        return failure.within(name)
        return None

    return check


def _check_patterns(patterns: list[tuple[Callable[[str], bool], Check]]) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, dict):
            state.spend(len(value) * len(patterns))
            for name in value:
                for search, check_property in patterns:
                    if search(name):
                        failure = check_property(value[name], state)
                        if failure is not None:
                            return failure.within(name)
        return None

    return check


def _evaluate_patterns(patterns: list[tuple[Callable[[str], bool], Check]]) -> Evaluation:
    def evaluate(value: Any, state: State) -> set[Any]:
        if not isinstance(value, dict):
            return set()
        state.spend(len(value) * len(patterns))
        return {name for name in value if any(search(name) for search, _ in patterns)}

    return evaluate


def _check_more(
    properties: dict[str, Check], patterns: list[tuple[Callable[[str], bool], Check]], more: Check
) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, dict):
            for name in value:
                if name not in properties and not any(search(name) for search, _ in patterns):
                    failure = more(value[name], state)
                    if failure is not None:
                        return failure.within(name)
        return None

    return check


def _check_names(names: Check) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, dict):
            for name in value:
                failure = names(name, state)
                if failure is not None:
                    return failure.within(name)
        return None

    return check


def _add_dependencies(compiler: Compiler, place: Place, check: Check) -> None:
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        if keyword != "dependentRequired" and keyword not in place.draft.keywords:
            continue
        for name, needed in _object(place.contents.get(keyword)).items():
            if isinstance(needed, list):
                rule = f"{keyword} at {place.path}"
                check.parts.append(_check_needed(name, needed, rule))
            elif keyword != "dependentRequired":
                schema = compiler.check_of(place.enter(f"{keyword}/{escape(name)}", needed))
                check.parts.append(_check_dependent(name, schema))
                check.evaluations.append(_evaluate_dependent(name, schema))


def _check_needed(name: str, needed: list[str], rule: str) -> KeywordCheck:
    def check(value: Any, _state: State) -> Failure | None:
        if isinstance(value, dict) and name in value:
            for each in needed:
                if each not in value:
                    return Failure(rule, f"property {name!r} is there, so {each!r} is missing")
        return None

    return check


def _check_dependent(name: str, schema: Check) -> KeywordCheck:
    return lambda value, state: schema(value, state) if isinstance(value, dict) and name in value else None


def _evaluate_dependent(name: str, schema: Check) -> Evaluation:
    return lambda value, state: schema.evaluate(value, state) if isinstance(value, dict) and name in value else set()


def add_arrays(compiler: Compiler, place: Place, check: Check) -> None:
    schema = place.contents
    for keyword in ("maxItems", "minItems"):
        if is_limit(schema.get(keyword)):
            check.parts.append(_check_size(keyword, int(schema[keyword]), (list, tuple), place))
    if schema.get("uniqueItems") is True:
        check.parts.append(_check_unique(place))
    is_newest = place.draft is DRAFT_2020_12
    first_keyword, more_keyword = ("prefixItems", "items") if is_newest else ("items", "additionalItems")
    first = schema.get(first_keyword)
    if isinstance(first, list):
        checks = [compiler.check_of(place.enter(f"{first_keyword}/{at}", each)) for at, each in enumerate(first)]
        check.parts.append(_check_first(checks))
        check.evaluations.append(lambda value, _: set(range(min(len(checks), _length(value)))))
    start = len(first) if isinstance(first, list) else 0
    more = schema.get(more_keyword)
    if not is_newest and not isinstance(first, list):
        more_keyword, more = "items", first
    if isinstance(more, bool | dict):
        check.parts.append(_check_rest(start, compiler.check_of(place.enter(more_keyword, more))))
        check.evaluations.append(lambda value, _: set(range(_length(value))))
    if "contains" in schema and "contains" in place.draft.keywords:
        _add_contains(compiler, place, check)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else 0


def _check_unique(place: Place) -> KeywordCheck:
    rule = f"uniqueItems at {place.path}"

    def check(value: Any, _state: State) -> Failure | None:
        if not isinstance(value, list | tuple):
            return None
        seen = set()
        for index, item in enumerate(value):
            identity = identity_of(item)
            if identity in seen:
                return Failure(rule, "the item was there before").within(index)
            seen.add(identity)
        return None

    return check


def _check_first(checks: list[Check]) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, list | tuple):
            for index, (item, check_item) in enumerate(zip(value, checks, strict=False)):
                failure = check_item(item, state)
                if failure is not None:
                    return failure.within(index)
        return None

    return check


def _check_rest(start: int, check_item: Check) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if isinstance(value, list | tuple):
            for index in range(start, len(value)):
                failure = check_item(value[index], state)
                if failure is not None:
                    return failure.within(index)
        return None

    return check


def _add_contains(compiler: Compiler, place: Place, check: Check) -> None:
    schema = place.contents
    contained = compiler.check_of(place.enter("contains", schema["contains"]))
    limits = {} if place.draft.ref_hides else schema
    least = int(limits["minContains"]) if is_limit(limits.get("minContains")) else 1
    most = int(limits["maxContains"]) if is_limit(limits.get("maxContains")) else None
    rule = f"contains at {place.path}"

    def find(value: Any, state: State) -> set[int]:
        fills, state.fills = state.fills, False
        found = {index for index, item in enumerate(value) if contained(item, state) is None}
        state.fills = fills
        return found

    def check_contains(value: Any, state: State) -> Failure | None:
        if not isinstance(value, list | tuple):
            return None
        count = len(find(value, state))
        if count < least or (most is not None and count > most):
            wanted = f"at least {least}" if count < least else f"at most {most}"
            return Failure(rule, f"{count} items match, where {wanted} must")
        return None

    check.parts.append(check_contains)
    if place.draft is DRAFT_2020_12:
        check.evaluations.append(lambda value, state: find(value, state) if isinstance(value, list | tuple) else set())


def _enter_map(compiler: Compiler, place: Place, keyword: str) -> dict[str, Check]:
    return {
        name: compiler.check_of(place.enter(f"{keyword}/{escape(name)}", each))
        for name, each in _object(place.contents.get(keyword)).items()
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
