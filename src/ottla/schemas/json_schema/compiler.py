"""Makes the checks of a document: each subschema's once, however often it is referred to.

A check that others refer to exists before it has its parts, so schemas may contain themselves, and depth costs no
stack. `$dynamicRef` and `$recursiveRef` lead where `$ref` would: to their anchor in the document that has them.
"""

from __future__ import annotations

from ottla.schemas.json_schema.checks import Check, Failure, KeywordCheck
from ottla.schemas.json_schema.combination_checks import add_combinations, add_unevaluated
from ottla.schemas.json_schema.container_checks import add_arrays, add_objects
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.scalar_checks import add_scalars


class Compiler:
    def __init__(self) -> None:
        self._made: dict[int, Check] = {}
        self._waiting: list[tuple[Place, Check]] = []

    def compile(self, root: Place) -> Check:
        check = self.check_of(root)
        while self._waiting:
            place, made = self._waiting.pop()
            if place.draft.ref_hides and isinstance(place.contents.get("$ref"), str):
                add_combinations(self, place, made)
                continue
            for add in (add_scalars, add_objects, add_arrays, add_combinations, add_unevaluated):
                add(self, place, made)
        return check

    def check_of(self, place: Place) -> Check:
        """The check of a subschema, which may be empty until `compile` is done."""
        if isinstance(place.contents, dict):
            check = self._made.get(id(place.contents))
            if check is None:
                check = self._made[id(place.contents)] = Check()
                self._waiting.append((place, check))
            return check
        check = Check()
        if place.contents is False:
            check.parts.append(_refuse(place))
        return check


def _refuse(place: Place) -> KeywordCheck:
    return lambda _value, _state: Failure(f"false at {place.path}", "the schema allows no value here")
