"""Answers and errors in Confluent's shapes: compact JSON, absent fields left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from ottla.registry.errors import RegistryError
from ottla.registry.strict_json import write_json

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
# What an error says may come from a request, with bytes that are no text.
_SHOWN_INSTEAD: Final = "\N{REPLACEMENT CHARACTER}"


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(write_json(content), status, headers, MEDIA_TYPE)


def answer_nothing() -> Response:
    return Response(status_code=204)


def answer_text(text: str) -> Response:
    """A schema alone."""
    return Response(text.encode(), media_type=MEDIA_TYPE)


def refuse(error: RegistryError, headers: Mapping[str, str] | None = None) -> Response:
    message = "".join(_SHOWN_INSTEAD if 0xD800 <= ord(one) <= 0xDFFF else one for one in error.message)
    return answer({"error_code": error.code, "message": message}, error.status, headers)
