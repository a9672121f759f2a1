"""Answers and errors in Confluent's shapes: compact JSON, absent fields left out."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from ottla.registry.errors import RegistryError
from ottla.registry.stored_schema import StoredSchema

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


def answer(content: Any, status: int = 200) -> Response:
    return answer_text(json.dumps(content, separators=(",", ":"), ensure_ascii=False), status)


def answer_text(text: str, status: int = 200) -> Response:
    """A schema alone, or what is JSON already."""
    return Response(text.encode("utf-8", "surrogatepass"), status, media_type=MEDIA_TYPE)


def refuse(error: RegistryError) -> Response:
    return answer({"error_code": error.code, "message": error.message}, error.status)


def show_schema(stored: StoredSchema, text: str) -> dict[str, Any]:
    """A schema without its subject, as it is answered to whoever asks for an id; the text may be in another form."""
    fields = stored.to_json() | {"schema": text}
    return {name: value for name, value in fields.items() if name not in ("subject", "version", "id")}
