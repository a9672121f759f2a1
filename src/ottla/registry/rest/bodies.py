"""What requests say: bodies of JSON, and parameters of the query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from ottla.registry.errors import RegistryError
from ottla.registry.identity import Json
from ottla.registry.records import DamagedRecord
from ottla.registry.registration import Registration
from ottla.registry.rest.answers import MEDIA_TYPE
from ottla.registry.stored_schema import read_references
from ottla.schemas.schema import Schema, SchemaType

_READ_TYPES: Final = (
    MEDIA_TYPE,
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
)
_BODY: Final = "ottla.body"
_BAD_REQUEST: Final = 400
_UNPROCESSABLE: Final = 422


async def read_object(request: Request, bytes_max: int) -> dict[str, Any]:
    """The body, if it is a JSON object of a permitted size and type."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in _READ_TYPES:
        raise RegistryError(415, f"HTTP 415 Unsupported Media Type: {kind}; send application/json")
    data = await read_bounded(request, bytes_max)
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RegistryError(_BAD_REQUEST, f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RegistryError(_BAD_REQUEST, f"The body is {_kind(body)}, not a JSON object")
    return body


async def read_bounded(request: Request, bytes_max: int) -> bytes:
    """The body, if it is not too large. It is kept: a handler may have to look at it again."""
    if _BODY in request.scope:
        kept: bytes = request.scope[_BODY]
        return kept
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > bytes_max:
            raise RegistryError(
                413,
                f"The body has more than {bytes_max} bytes (size.limit.filter.max.request.body.size)",
            )
    request.scope[_BODY] = bytes(data)
    return bytes(data)


def read_registration(subject: str, body: Json, *, normalises: bool) -> Registration:
    """A schema as clients send it. Fields that are not known are left alone: newer clients send more."""
    given_type = _text(body, "schemaType") or SchemaType.AVRO
    try:
        schema_type = SchemaType(given_type)
        references = read_references(body.get("references"))
    except DamagedRecord as error:
        raise RegistryError(_UNPROCESSABLE, f"The request has {error}") from None
    except ValueError:
        raise RegistryError(42201, f"Invalid schema type {given_type}") from None
    version = _number(body, "version")
    schema_id = _number(body, "id")
    return Registration(
        subject,
        Schema(_text(body, "schema") or "", schema_type, references),
        metadata=_object(body, "metadata"),
        rule_set=_object(body, "ruleSet"),
        id=None if schema_id is None or schema_id < 0 else schema_id,
        version=None if version in (None, 0) else version,
        normalises=normalises,
    )


def flag(request: Request, name: str, *, default: bool = False) -> bool:
    """A parameter of the query that is true or false; anything else is false, as with Java's Boolean."""
    given = request.query_params.get(name)
    return default if given is None else given.lower() == "true"


def number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        return int(given)
    except ValueError:
        raise RegistryError(404, "HTTP 404 Not Found") from None


def path_id(request: Request) -> int:
    """The id in a path. What is no number is not found, as in Confluent's registry."""
    given = request.path_params["id"]
    if not (given.isascii() and given.isdecimal() and len(given) <= 10):
        raise RegistryError(404, "HTTP 404 Not Found")
    return int(given)


def _text(body: Json, name: str) -> str | None:
    found: str | None = _typed(body, name, str, "a text")
    return found


def _number(body: Json, name: str) -> int | None:
    found: int | None = _typed(body, name, int, "a number")
    if isinstance(found, bool) or (found is not None and abs(found) >= 2**31):
        raise RegistryError(_BAD_REQUEST, f"{name} is {found}, not a number of 32 bits")
    return found


def _object(body: Json, name: str) -> Json | None:
    found: Mapping[str, Any] | None = _typed(body, name, dict, "a JSON object")
    return found


def _typed(body: Json, name: str, wanted: type, what: str) -> Any:
    found = body.get(name)
    if found is not None and not isinstance(found, wanted):
        raise RegistryError(_BAD_REQUEST, f"{name} is {_kind(found)}, not {what}")
    return found


def _kind(value: object) -> str:
    names = {
        dict: "a JSON object",
        list: "a list",
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "a truth value",
    }
    return names.get(type(value), "null")
