"""Schemas as Python values, and the rules that a reader breaks."""

import json

from ottla.schemas.errors import UnwritableValue
from ottla.schemas.json_schema.json_format import JsonFormat, JsonSchema

Findings = list[tuple[str, str]]
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def parse(schema: object, references: dict[str, object] | None = None) -> JsonSchema:
    texts = {name: json.dumps(each) for name, each in (references or {}).items()}
    return JsonFormat().parse(json.dumps(schema), texts)


def rules(writer: object, reader: object) -> Findings:
    return [(finding.rule, finding.path) for finding in parse(reader).compare(parse(writer))]


def failure_of(schema: object, value: object) -> str | None:
    """Why a value does not fit; None if it does."""
    try:
        parse(schema).encoder()(value)
    except UnwritableValue as error:
        return str(error)
    return None
