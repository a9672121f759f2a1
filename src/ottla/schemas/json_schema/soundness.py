"""What makes a text a schema: its meta-schema, its patterns, its references.

The meta-schema judges each subschema alone, with the subschemas below it cut off. So the depth of the judgement does
not grow with that of the schema, and subschemas that look alike are judged once.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.drafts import Draft, cut_subschemas, draft_of, references_in, subschemas
from ottla.schemas.json_schema.json_text import show_json, write_json
from ottla.schemas.json_schema.patterns import check_pattern

# Values that may be of any shape and size, and of which the meta-schema knows nothing.
_FREE: Final = ("default", "const", "examples")
# Of many permitted values, so many are looked at: that they all differ is nothing to insist on.
_ENUM_LOOKED_AT: Final = 100
# Rules of meta-schemas that nobody needs who reads a schema, and keywords that say nothing about values.
_HARMLESS: Final = frozenset({"minItems", "uniqueItems", "minLength", "minimum", "exclusiveMinimum", "format"})
_NOTES: Final = frozenset({"title", "description", "$comment", "examples", "readOnly", "writeOnly", "deprecated"})
_SHOWN_MAX: Final = 200


class Judge:
    """Looks at each schema once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._judged: set[tuple[Draft, str]] = set()

    def judge(self, tree: Any, *, is_new: bool) -> None:
        """InvalidSchema, which names the place, for a text that is no schema.

        What is not new was accepted by another registry, with its own opinion on patterns, and with a library that
        reads schemas without their meta-schema: what does no harm is forgiven.
        """
        draft = draft_of(tree)
        left = [("#", tree)]
        while left:
            path, schema = left.pop()
            if self._is_unseen(schema):
                self._judge_one(path, schema, draft, is_new=is_new)
                left += [(f"{path}/{step}", each) for step, each in subschemas(schema, draft)]

    def judge_references(self, document: Document) -> None:
        """InvalidSchema for a reference that leads nowhere, or to something that is no schema."""
        followed: set[int] = set()
        left = [document.root]
        while left:
            place = left.pop()
            schema = place.contents
            if not isinstance(schema, dict) or id(schema) in followed:
                continue
            followed.add(id(schema))
            if self._is_unseen(schema):
                # Of another document, where it was new once, or in a place where a draft has no schemas.
                self._judge_one(place.path, schema, place.draft, is_new=False)
            left += [place.enter(step, each) for step, each in subschemas(schema, place.draft)]
            left += [place.follow(reference) for reference in references_in(schema, place.draft)]

    def _is_unseen(self, schema: Any) -> bool:
        # What is no object is a boolean, or was judged with the schema that has it.
        if not isinstance(schema, dict) or id(schema) in self._seen:
            return False
        self._seen.add(id(schema))
        return True

    def _judge_one(self, path: str, schema: dict[str, Any], draft: Draft, *, is_new: bool) -> None:
        cut = _cut(schema, draft)
        text = write_json(cut)
        if (draft, text) not in self._judged:
            self._judged.add((draft, text))
            _apply_meta_schema(path, cut, draft, is_new=is_new)
        if is_new:
            _check_patterns(path, schema)


def _cut(schema: dict[str, Any], draft: Draft) -> dict[str, Any]:
    cut = cut_subschemas(schema, draft)
    for keyword, value in schema.items():
        if keyword in _FREE:
            del cut[keyword]
        elif isinstance(value, Decimal):
            cut[keyword] = float(value)
        elif keyword == "enum" and isinstance(value, list):
            cut[keyword] = value[:_ENUM_LOOKED_AT]
    return cut


def _apply_meta_schema(path: str, cut: dict[str, Any], draft: Draft, *, is_new: bool) -> None:
    for error in draft.meta_validator.iter_errors(cut):
        if not is_new and (error.validator in _HARMLESS or _NOTES.intersection(error.absolute_path)):
            continue
        steps = "".join(f"/{step}" for step in error.absolute_path)
        found, wanted = (show_json(shown, _SHOWN_MAX) for shown in (error.instance, error.validator_value))
        raise InvalidSchema(
            f"{path}{steps}: {found} is not what draft {draft.name} has there: it breaks {error.validator!r}, {wanted}"
        )


def _check_patterns(path: str, schema: dict[str, Any]) -> None:
    for keyword, patterns in (
        ("pattern", [schema.get("pattern")]),
        ("patternProperties", schema.get("patternProperties", ())),
    ):
        for pattern in patterns:
            if isinstance(pattern, str):
                try:
                    check_pattern(pattern)
                except InvalidSchema as error:
                    raise InvalidSchema(f"{path}/{keyword}: {error}") from None
