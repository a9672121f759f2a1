"""The schemas that a schema needs, in an order in which they can be read.

References form a graph whose edges come from whoever registers schemas, and its nodes from a store that may be damaged:
a circle, a chain of thousands, or a graph that unfolds without end must cost nothing. So each schema is visited once,
and depth and number are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ottla.schemas.errors import InvalidReference
from ottla.schemas.schema import Reference, Schema

DEPTH_MAX: Final = 64
COUNT_MAX: Final = 1024


def resolve(schema: Schema, find: Callable[[Reference], Schema | None]) -> dict[str, str]:
    """The texts that a schema needs, by name, each after those that it needs itself.

    InvalidReference if one leads nowhere or in a circle, if two versions go by one name, or beyond the bounds.
    """
    texts: dict[str, str] = {}
    found: dict[str, Reference] = {}

    def visit(referring: Schema, path: tuple[Reference, ...]) -> None:
        for reference in referring.references:
            if reference in path:
                circle = " -> ".join(one.name for one in (*path[path.index(reference) :], reference))
                raise InvalidReference(f"references lead in a circle: {circle}")
            known = found.get(reference.name)
            if known is not None:
                if known != reference:
                    raise InvalidReference(
                        f"{reference.name} is {_version(known)} in one place and {_version(reference)} in another"
                    )
                continue
            if len(path) == DEPTH_MAX or len(found) == COUNT_MAX:
                raise InvalidReference(
                    f"references go deeper than {DEPTH_MAX} schemas, or to more than {COUNT_MAX} of them"
                )
            referred = find(reference)
            if referred is None:
                raise InvalidReference(f"{reference.name} refers to {_version(reference)}, which does not exist")
            if referred.type is not schema.type:
                raise InvalidReference(
                    f"{reference.name} refers to {_version(reference)}, which is {referred.type}, not {schema.type}"
                )
            visit(referred, (*path, reference))
            found[reference.name] = reference
            texts[reference.name] = referred.text

    visit(schema, ())
    return texts


def _version(reference: Reference) -> str:
    return f"version {reference.version} of subject {reference.subject}"
