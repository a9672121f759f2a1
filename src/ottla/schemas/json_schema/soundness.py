"""What makes a text a schema: its meta-schema, its patterns, its references.

The meta-schema judges each subschema alone, with the subschemas below it cut off, so that the depth of the judgement
does not grow with that of the schema. A judgement takes a millisecond, and a schema may have a hundred thousand
subschemas. So what is judged is a likeness of the subschema: numbers keep their sign, texts that may be any text and
names of properties go, and what a meta-schema does not know goes. Likenesses that are equal are judged once.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.drafts import Draft, cut_subschemas, draft_of, references_in, subschemas
from ottla.schemas.json_schema.json_text import show_json, write_json
from ottla.schemas.json_schema.patterns import check_pattern

# Values that may be of any shape and size, and of which the meta-schema knows nothing.
_FREE: Final = frozenset({"default", "const", "examples"})
# Texts that have to be written in a certain way, and a way that every draft allows.
_SPELT: Final = frozenset({"$schema", "$id", "$anchor", "$dynamicAnchor"})
_WELL_SPELT: Final = re.compile("[A-Za-z][A-Za-z0-9._-]*")
# Rules of meta-schemas that nobody needs who reads a schema, and keywords that say nothing about values.
_HARMLESS: Final = frozenset({"minItems", "uniqueItems", "minLength", "minimum", "exclusiveMinimum", "format"})
_NOTES: Final = frozenset({"title", "description", "$comment", "examples", "readOnly", "writeOnly", "deprecated"})
_SHOWN_MAX: Final = 200


class Judge:
    """Looks at each schema once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._judged: set[tuple[Draft, bool, str]] = set()

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
        likeness = _liken(schema, draft)
        key = (draft, is_new, write_json(likeness))
        if key not in self._judged:
            if _find_fault(likeness, draft, is_new=is_new) is not None:
                _raise_fault(path, schema, draft, is_new=is_new)
            self._judged.add(key)
        if is_new:
            _check_patterns(path, schema)


def _liken(schema: dict[str, Any], draft: Draft) -> dict[str, Any]:
    cut = cut_subschemas(schema, draft)
    known = draft.known - _FREE
    return {keyword: _liken_value(keyword, cut[keyword]) for keyword in cut if keyword in known}


def _liken_value(keyword: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | Decimal):
        sign = (value > 0) - (value < 0)
        return sign if value == int(value) else sign / 2
    if isinstance(value, str):
        return _liken_text(keyword, value)
    if isinstance(value, dict):
        # Of a map of schemas, those that are none.
        return {name: each for name, each in value.items() if each != {}}
    if isinstance(value, list) and value:
        if keyword == "enum":
            return [0]
        if all(each == {} for each in value):
            return [{}]
        if keyword == "required" and all(isinstance(each, str) for each in value) and len(set(value)) == len(value):
            return [""]
    return value


def _liken_text(keyword: str, text: str) -> str:
    if keyword == "type":
        return text
    if keyword in _SPELT:
        return "a" if _WELL_SPELT.fullmatch(text) else text
    return ""


def _find_fault(schema: dict[str, Any], draft: Draft, *, is_new: bool) -> Any:
    for fault in draft.meta_validator.iter_errors(schema):
        if is_new or not (fault.validator in _HARMLESS or _NOTES.intersection(fault.absolute_path)):
            return fault
    return None


def _raise_fault(path: str, schema: dict[str, Any], draft: Draft, *, is_new: bool) -> None:
    fault = _find_fault(
        {
            keyword: float(value) if isinstance(value, Decimal) else value
            for keyword, value in cut_subschemas(schema, draft).items()
            if keyword not in _FREE and not (keyword == "enum" and value and isinstance(value, list))
        },
        draft,
        is_new=is_new,
    )
    if fault is None:
        # The likeness was a poor one.
        return
    steps = "".join(f"/{step}" for step in fault.absolute_path)
    found, wanted = (show_json(shown, _SHOWN_MAX) for shown in (fault.instance, fault.validator_value))
    raise InvalidSchema(
        f"{path}{steps}: {found} is not what draft {draft.name} has there: it breaks {fault.validator!r}, {wanted}"
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
