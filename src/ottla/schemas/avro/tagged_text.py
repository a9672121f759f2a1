"""Tags in Avro's JSON: attribute `confluent:tags` of records and of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ottla.schemas.avro.json_text import read, write
from ottla.schemas.tagging import Entity, Tags

_ATTRIBUTE: Final = "confluent:tags"


class TaggedAvro:
    def __init__(self, text: str) -> None:
        # Read anew, so that it may be changed.
        self._tree: Any = read(text)
        self._places = dict(_places(self._tree, ""))

    def find(self) -> dict[Entity, list[str]]:
        return {entity: list(place.get(_ATTRIBUTE) or ()) for entity, place in self._places.items()}

    def replace(self, tags: Tags) -> str:
        for entity, wanted in tags.items():
            place = self._places[entity]
            place.pop(_ATTRIBUTE, None)
            if wanted:
                place[_ATTRIBUTE] = list(wanted)
        return write(self._tree)


def _places(node: Any, namespace: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The JSON objects of records and fields."""
    if isinstance(node, list):
        for branch in node:
            yield from _places(branch, namespace)
    if not isinstance(node, dict):
        return
    if node.get("type") in ("record", "error"):
        full = _full_name(node, namespace)
        inner = full.rpartition(".")[0]
        yield Entity(full, is_record=True), node
        for field in node["fields"]:
            yield Entity(f"{full}.{field['name']}", is_record=False), field
            yield from _places(field["type"], inner)
    for name in ("type", "items", "values"):
        yield from _places(node.get(name), namespace)


def _full_name(node: dict[str, Any], namespace: str) -> str:
    name = str(node["name"])
    if "." in name:
        return name
    own = node.get("namespace", namespace)
    return f"{own}.{name}" if own else name
