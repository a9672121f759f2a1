"""Which branch of a union a JSON value means.

A value that is an object of one entry, with the name of a branch and something that may be a value of it, names its
branch. Any other one means the first of the branches that it fits best: what is written as it stands goes before what
can be taken for it, such as a whole number for a double, or a text for bytes. Values are looked at from outside only,
so that unions within unions cost no more than their values are large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.model import Array, AvroType, Document, Enum, Fixed, Map, Primitive, Record, Union
from ottla.schemas.avro.plain_json.scalars import NO, PERHAPS, YES, scalar_of

Weigh = Callable[[Json], int]


@dataclass(frozen=True, slots=True)
class Choice:
    """A branch by its place, and the value in it."""

    index: int
    value: Json


class Branches:
    def __init__(self, document: Document, union: Union) -> None:
        self.names = [_branch_name(document, branch) for branch in union.branches]
        self._places = {name: index for index, name in enumerate(self.names)}
        self._weights = [_weigh(document, branch) for branch in union.branches]

    def choose(self, value: Json) -> Choice | None:
        """None if no branch is meant."""
        if isinstance(value, Mapping) and len(value) == 1:
            name, inner = next(iter(value.items()))
            index = self._places.get(name)
            if index is not None and self._weights[index](inner) != NO:
                return Choice(index, inner)
        best, weight = 0, NO
        for index, weigh in enumerate(self._weights):
            found = weigh(value)
            if found > weight:
                best, weight = index, found
        return None if weight == NO else Choice(best, value)

    def show(self, index: int, value: Json) -> Json:
        """The JSON that means a value in a branch: the value itself, if that is enough."""
        chosen = self.choose(value)
        is_enough = chosen is not None and chosen.index == index and chosen.value is value
        return value if is_enough else {self.names[index]: value}


def _branch_name(document: Document, branch: AvroType) -> str:
    definite = document.resolve(branch)
    return definite.name.full if isinstance(definite, Record | Enum | Fixed) else definite.kind


def _weigh(document: Document, branch: AvroType) -> Weigh:
    definite = document.resolve(branch)
    match definite:
        case Primitive() | Fixed() | Enum():
            return scalar_of(definite).weigh
        case Array():
            return lambda value: YES if isinstance(value, Sequence) and not isinstance(value, str) else NO
        case Map():
            return lambda value: PERHAPS if isinstance(value, Mapping) else NO
        case Record():
            return _weigh_record(definite)
        case _:
            raise AssertionError(f"{definite} is no branch of a union")


def _weigh_record(record: Record) -> Weigh:
    names = {field.name for field in record.fields}
    needed = {field.name for field in record.fields if not field.has_default}

    def weigh(value: Json) -> int:
        if not isinstance(value, Mapping):
            return NO
        return YES if needed <= value.keys() <= names else PERHAPS

    return weigh
