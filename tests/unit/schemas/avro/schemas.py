"""How the tests of this package make schemas."""

import json
from collections.abc import Mapping
from typing import Any

from ottla.schemas.avro.avro_format import AvroFormat, AvroSchema


def parse(schema: Any, references: Mapping[str, str] | None = None, *, is_new: bool = True) -> AvroSchema:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return AvroFormat().parse(text, references or {}, is_new=is_new)


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}
