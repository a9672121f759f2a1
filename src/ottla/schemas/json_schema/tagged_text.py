"""Tags in JSON Schema: keyword `confluent:tags` of objects and of their properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ottla.schemas.json_schema.json_text import read_json, write_json
from ottla.schemas.tagging import Entity, Tags

_KEYWORD: Final = "confluent:tags"
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")


class TaggedJson:
    def __init__(self, text: str) -> None:
        # Read anew, so that it may be changed.
        self._tree: Any = read_json(text)
        self._places = dict(_places(self._tree, ""))

    def find(self) -> dict[Entity, list[str]]:
        return {entity: _texts(place.get(_KEYWORD)) for entity, place in self._places.items()}

    def replace(self, tags: Tags) -> str:
        for entity, wanted in tags.items():
            place = self._places[entity]
            place.pop(_KEYWORD, None)
            if wanted:
                place[_KEYWORD] = list(wanted)
        return write_json(self._tree)


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _places(node: Any, before: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The JSON objects of objects and properties; each path goes on from the one before."""
    if not isinstance(node, dict):
        return
    properties = node.get("properties")
    if node.get("type") == "object" or isinstance(properties, dict):
        here = f"{before}object"
        yield Entity(here, is_record=True), node
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(inner, dict):
                yield Entity(f"{here}.{name}", is_record=False), inner
                yield from _places(inner, f"{here}.{name}.")
    yield from _places(node.get("items"), f"{before}array.")
    yield from _places(node.get("not"), f"{before}not.")
    for keyword in _COMBINATIONS:
        branches = node.get(keyword)
        for place, branch in enumerate(branches) if isinstance(branches, list) else ():
            yield from _places(branch, f"{before}{keyword.lower()}.{place}.")
