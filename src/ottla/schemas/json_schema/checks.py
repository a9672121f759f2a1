"""A schema compiled into functions that check values.

Each subschema becomes a `Check`: a list of functions, one for each keyword that says something. They are in
`scalar_checks`, `container_checks` and `combination_checks`, and put together by `compiler`. The first thing that is
wrong ends the check; nothing is collected from values that are right.

Schemas and values are both somebody else's. A schema may refer to itself without getting any further (such a `$ref`
says nothing and passes), may nest deeper than the stack, and may try exponentially many alternatives on one value: the
depth and the number of steps are bounded, the latter by the size of the value.

Reading fills in defaults: a property that is missing gets its default, so that a reader may require what a writer did
not know (REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED is compatible). Within alternatives, where a failure is no failure,
nothing is filled in, but a missing property with a default passes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from ottla.schemas.errors import SchemaError
from ottla.schemas.json_schema.drafts import escape

DEPTH_MAX: Final = 250
STEPS_AT_LEAST: Final = 100_000
STEPS_PER_BYTE: Final = 20


class Failure:
    """What is wrong with a value, and where."""

    __slots__ = ("detail", "path", "rule")

    def __init__(self, rule: str, detail: str) -> None:
        self.rule = rule
        self.detail = detail
        # From the inside out: it is made on the way back.
        self.path: list[str | int] = []

    def within(self, step: str | int) -> Failure:
        self.path.append(step)
        return self

    def __str__(self) -> str:
        steps = "".join(f"/{escape(str(step))}" for step in reversed(self.path))
        return f"#{steps}: {self.detail} ({self.rule})"


class TooMuch(SchemaError):
    """A value that cannot be checked within the bounds."""


class State:
    """One check of one value."""

    __slots__ = ("active", "depth", "fills", "is_reading", "steps")

    def __init__(self, size: int, *, is_reading: bool) -> None:
        self.steps = STEPS_AT_LEAST + STEPS_PER_BYTE * size
        self.depth = 0
        # References that are being followed, each with the value that they are followed for.
        self.active: set[tuple[int, int]] = set()
        self.is_reading = is_reading
        self.fills = is_reading

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooMuch("the schema takes more steps to check this value than its size allows")


KeywordCheck = Callable[[Any, State], Failure | None]
# The names or indexes that a keyword has looked at, for `unevaluatedProperties` and `unevaluatedItems`.
Evaluation = Callable[[Any, State], set[Any]]


class Check:
    __slots__ = ("evaluations", "parts")

    def __init__(self) -> None:
        self.parts: list[KeywordCheck] = []
        self.evaluations: list[Evaluation] = []

    def __call__(self, value: Any, state: State) -> Failure | None:
        self._enter(state)
        for part in self.parts:
            failure = part(value, state)
            if failure is not None:
                state.depth -= 1
                return failure
        state.depth -= 1
        return None

    def evaluate(self, value: Any, state: State) -> set[Any]:
        self._enter(state)
        evaluated = set().union(*(evaluation(value, state) for evaluation in self.evaluations))
        state.depth -= 1
        return evaluated

    def _enter(self, state: State) -> None:
        state.depth += 1
        if state.depth > DEPTH_MAX:
            raise TooMuch(f"the schema takes more than {DEPTH_MAX} levels to check this value")
        state.spend(1)


def plain(value: Any) -> Any:
    """A value of a schema as Python has it: Decimals as integers or floats."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def identity_of(value: Any) -> Any:
    """What is equal for values that JSON Schema takes for equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, dict):
        return ("object", frozenset((name, identity_of(item)) for name, item in value.items()))
    if isinstance(value, list | tuple):
        return ("array", tuple(map(identity_of, value)))
    return value
