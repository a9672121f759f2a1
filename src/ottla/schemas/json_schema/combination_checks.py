"""Checks of what is made of other schemas, and of what none of them has looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ottla.schemas.json_schema.checks import Check, Evaluation, Failure, KeywordCheck, State
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.drafts import references_in

if TYPE_CHECKING:
    from ottla.schemas.json_schema.compiler import Compiler

_Container = type[Any] | tuple[type[Any], ...]


def add_combinations(compiler: Compiler, place: Place, check: Check) -> None:
    schema = place.contents
    for reference in references_in(schema, place.draft):
        target = compiler.check_of(place.follow(reference))
        check.parts.append(_check_reference(target))
        check.evaluations.append(_evaluate_reference(target))
    if place.draft.ref_hides and isinstance(schema.get("$ref"), str):
        return
    for keyword, make in (("allOf", _check_all), ("anyOf", _check_any), ("oneOf", _check_one)):
        if isinstance(schema.get(keyword), list):
            parts = [compiler.check_of(place.enter(f"{keyword}/{at}", each)) for at, each in enumerate(schema[keyword])]
            check.parts.append(make(parts, f"{keyword} at {place.path}"))
            check.evaluations.append(_evaluate_passing(parts))
    if "not" in schema:
        check.parts.append(_check_not(compiler.check_of(place.enter("not", schema["not"])), f"not at {place.path}"))
    if "if" in schema and "if" in place.draft.keywords:
        condition, then, otherwise = (
            compiler.check_of(place.enter(keyword, schema.get(keyword, True))) for keyword in ("if", "then", "else")
        )
        check.parts.append(_check_condition(condition, then, otherwise))
        check.evaluations.append(_evaluate_condition(condition, then, otherwise))


def add_unevaluated(compiler: Compiler, place: Place, check: Check) -> None:
    """Last of all, when the others have looked."""
    for keyword, container in (("unevaluatedProperties", dict), ("unevaluatedItems", (list, tuple))):
        if keyword in place.contents and keyword in place.draft.keywords:
            rest = compiler.check_of(place.enter(keyword, place.contents[keyword]))
            check.parts.append(_check_unevaluated(tuple(check.evaluations), rest, container))
            check.evaluations.append(_evaluate_all(container))


def _passes(check: Check, value: Any, state: State) -> bool:
    return _try(check, value, state) is None


def _try(check: Check, value: Any, state: State) -> Failure | None:
    """Where a failure is no failure, a value must stay as it is."""
    fills, state.fills = state.fills, False
    failure = check(value, state)
    state.fills = fills
    return failure


def _check_reference(target: Check) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        followed = (id(target), id(value))
        if followed in state.active:
            return None
        state.active.add(followed)
        failure = target(value, state)
        state.active.remove(followed)
        return failure

    return check


def _evaluate_reference(target: Check) -> Evaluation:
    def evaluate(value: Any, state: State) -> set[Any]:
        followed = (-id(target), id(value))
        if followed in state.active:
            return set()
        state.active.add(followed)
        evaluated = target.evaluate(value, state)
        state.active.remove(followed)
        return evaluated

    return evaluate


def _check_all(parts: list[Check], _rule: str) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        for part in parts:
            failure = part(value, state)
            if failure is not None:
                return failure
        return None

    return check


def _check_any(parts: list[Check], rule: str) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        failures = []
        for part in parts:
            failure = _try(part, value, state)
            if failure is None:
                return None
            failures.append(failure)
        return _fits_none(failures, rule)

    return check


def _check_one(parts: list[Check], rule: str) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        failures = []
        fitting: list[int] = []
        for index, part in enumerate(parts):
            failure = _try(part, value, state)
            if failure is not None:
                failures.append(failure)
                continue
            fitting.append(index)
            if len(fitting) == 2:
                return Failure(rule, f"both schema {fitting[0]} and schema {fitting[1]} fit")
        return None if fitting else _fits_none(failures, rule)

    return check


def _fits_none(failures: list[Failure], rule: str) -> Failure:
    if not failures:
        return Failure(rule, "there is no schema to fit")
    # Whatever got furthest was probably meant.
    nearest = max(failures, key=lambda failure: len(failure.path))
    return Failure(rule, f"none of {len(failures)} schemas fits, the nearest fails with {nearest}")


def _check_not(negated: Check, rule: str) -> KeywordCheck:
    return lambda value, state: Failure(rule, "what must not fit does") if _passes(negated, value, state) else None


def _check_condition(condition: Check, then: Check, otherwise: Check) -> KeywordCheck:
    return lambda value, state: (then if _passes(condition, value, state) else otherwise)(value, state)


def _evaluate_condition(condition: Check, then: Check, otherwise: Check) -> Evaluation:
    def evaluate(value: Any, state: State) -> set[Any]:
        if _passes(condition, value, state):
            return condition.evaluate(value, state) | then.evaluate(value, state)
        return otherwise.evaluate(value, state)

    return evaluate


def _evaluate_passing(parts: list[Check]) -> Evaluation:
    def evaluate(value: Any, state: State) -> set[Any]:
        return set().union(*(part.evaluate(value, state) for part in parts if _passes(part, value, state)))

    return evaluate


def _evaluate_all(container: _Container) -> Evaluation:
    def evaluate(value: Any, _state: State) -> set[Any]:
        if not isinstance(value, container):
            return set()
        return set(value) if isinstance(value, dict) else set(range(len(value)))

    return evaluate


def _check_unevaluated(evaluations: tuple[Evaluation, ...], rest: Check, container: _Container) -> KeywordCheck:
    def check(value: Any, state: State) -> Failure | None:
        if not isinstance(value, container):
            return None
        evaluated = set().union(*(evaluation(value, state) for evaluation in evaluations))
        for step in list(value) if isinstance(value, dict) else range(len(value)):
            if step not in evaluated:
                failure = rest(value[step], state)
                if failure is not None:
                    return failure.within(step)
        return None

    return check
