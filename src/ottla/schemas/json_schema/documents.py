"""A schema with the schemas that it refers to, and the places that `$ref` leads to.

Nothing is fetched: a reference leads into the document, to one of the references that were registered with it, or to a
meta-schema of the drafts. The name of a reference is a URI; like `$ref`, it is relative to the `$id` of the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin

from jsonschema_specifications import REGISTRY as META_SCHEMAS
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.drafts import Draft, draft_of
from ottla.schemas.json_schema.json_text import BadJson, read_json

# What a lookup can raise on identifiers that make no sense, beside its own error.
_NONSENSE: Final = (Unresolvable, ValueError, TypeError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A schema within a document, and what `$ref` is relative to there."""

    # A boolean, an object, or something that is no schema at all.
    contents: Any
    draft: Draft
    # For people: a JSON pointer, with the `$ref` that led out of the document in front.
    path: str
    document: Document
    resolver: Any

    def enter(self, step: str, contents: Any) -> Place:
        """A schema within this one."""
        resolver = self.resolver
        if isinstance(contents, dict) and isinstance(contents.get(self.draft.id_keyword), str):
            try:
                resolver = resolver.in_subresource(self.draft.specification.create_resource(contents))
            except _NONSENSE as error:
                raise InvalidSchema(
                    f"{self.path}/{step}: {contents[self.draft.id_keyword]!r} is no URI: {error}"
                ) from None
        return Place(contents, self.draft, f"{self.path}/{step}", self.document, resolver)

    def follow(self, reference: str) -> Place:
        """The schema that a `$ref` here leads to; InvalidSchema if there is none."""
        found = self.document.look_up(self, reference)
        if not isinstance(found.contents, dict | bool):
            raise InvalidSchema(
                f"{self.path}: $ref {reference!r} leads to {type(found.contents).__name__}, not a schema"
            )
        draft = self.document.drafts.get(id(found.contents), self.draft)
        path = reference if "#" in reference else f"{reference}#"
        return Place(found.contents, draft, path, self.document, found.resolver)


class Document:
    """The root schema and its references. It never changes."""

    def __init__(self, tree: Any, references: Mapping[str, str]) -> None:
        self.tree = tree
        self.draft = draft_of(tree)
        self.drafts: dict[int, Draft] = {}
        self._names = {name: _read_reference(name, text) for name, text in references.items()}
        root_id = tree.get(self.draft.id_keyword) if isinstance(tree, dict) else None
        self._base = root_id if isinstance(root_id, str) else ""
        try:
            registry = META_SCHEMAS.with_resources(self._resources()).crawl()
        except _NONSENSE as error:
            raise InvalidSchema(f"the identifiers of the schema cannot be resolved: {error}") from None
        self._registry: Registry[Any] = registry
        self.root = Place(tree, self.draft, "#", self, registry.resolver(self._base))

    def look_up(self, place: Place, reference: str) -> Any:
        try:
            return place.resolver.lookup(reference)
        except _NONSENSE:
            pass
        # A reference by its own name, from a document whose `$id` moves names elsewhere.
        name, _, fragment = reference.partition("#")
        if name.removeprefix("./") in self._names:
            try:
                return self._registry.resolver().lookup(f"{name.removeprefix('./')}#{fragment}")
            except _NONSENSE:
                pass
        raise InvalidSchema(
            f"{place.path}: $ref {reference!r} leads nowhere; schemas outside of the document are found among its "
            f"references ({', '.join(sorted(self._names)) or 'it has none'}), and never fetched"
        )

    def _resources(self) -> list[tuple[str, Resource[Any]]]:
        resources = []
        for name, tree in self._names.items():
            draft = draft_of(tree)
            self._note_draft(tree, draft)
            resource = draft.specification.create_resource(tree)
            resources += [(uri, resource) for uri in dict.fromkeys((name, urljoin(self._base, name)))]
        self._note_draft(self.tree, self.draft)
        resources.append((self._base, self.draft.specification.create_resource(self.tree)))
        return resources

    def _note_draft(self, tree: Any, draft: Draft) -> None:
        """`$ref` leads from one draft into another, so each object remembers its own. The trees live as long as we."""
        left = [tree]
        while left:
            node = left.pop()
            if isinstance(node, dict):
                self.drafts[id(node)] = draft
                left += node.values()
            elif isinstance(node, list):
                left += node


def _read_reference(name: str, text: str) -> Any:
    try:
        return read_json(text)
    except BadJson as error:
        raise InvalidSchema(f"reference {name!r}: {error}") from None
