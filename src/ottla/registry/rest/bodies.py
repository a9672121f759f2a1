"""The bodies of requests: JSON objects of a permitted size and type, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.requests import Request

from ottla.registry.contract_fields import WrongShape, kind_of, read_config, read_metadata, read_rule_set
from ottla.registry.errors import RegistryError
from ottla.registry.identity import Json
from ottla.registry.registration import Registration
from ottla.registry.rest.answers import MEDIA_TYPE
from ottla.registry.stored_schema import read_references
from ottla.registry.strict_json import read_json
from ottla.registry.tagging import TagChange
from ottla.schemas.schema import Schema, SchemaType
from ottla.schemas.tagging import Entity, Tags

T = TypeVar("T")
_READ_TYPES: Final = (
    MEDIA_TYPE,
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
)
_BODY: Final = "ottla.body"
_BAD_REQUEST: Final = 400
_NUMBER_MAX: Final = 2**31 - 1
# What has tags, by whether it is a record.
ENTITY_TYPES: Final = {True: "sr_record", False: "sr_field"}


async def read_object(request: Request, bytes_max: int) -> dict[str, Any]:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in _READ_TYPES:
        raise RegistryError(415, f"HTTP 415 Unsupported Media Type: {kind}; send application/json")
    data = await read_bounded(request, bytes_max)
    try:
        body = read_json(data)
    except ValueError as error:
        raise RegistryError(_BAD_REQUEST, f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RegistryError(_BAD_REQUEST, f"The body is {kind_of(body)}, not a JSON object")
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
                413, f"The body has more than {bytes_max} bytes (size.limit.filter.max.request.body.size)"
            )
    request.scope[_BODY] = bytes(data)
    return bytes(data)


def read_registration(subject: str, body: Json, *, normalises: bool) -> Registration:
    """A schema as clients send it. Fields that are not known are left alone: newer clients send more."""
    given_type = _text(body, "schemaType") or SchemaType.AVRO
    try:
        schema_type = SchemaType(given_type)
    except ValueError:
        raise RegistryError(42201, f"Invalid schema type {given_type}") from None
    version, schema_id = _number(body, "version"), _number(body, "id")
    return Registration(
        subject,
        Schema(_text(body, "schema") or "", schema_type, _shaped(read_references, body.get("references"))),
        metadata=_shaped(read_metadata, body.get("metadata")),
        rule_set=_shaped(read_rule_set, body.get("ruleSet")),
        id=None if schema_id is None or schema_id < 0 else schema_id,
        version=None if version in (None, 0) else version,
        normalises=normalises,
    )


def read_settings(body: Json) -> Json:
    """Requests and answers to them call it `compatibility`, everything else `compatibilityLevel`."""
    fields = {"compatibilityLevel" if name == "compatibility" else name: value for name, value in body.items()}
    return _shaped(read_config, fields)


def rename_level(fields: Json) -> Json:
    """Settings as a request has them."""
    return {"compatibility" if name == "compatibilityLevel" else name: value for name, value in fields.items()}


def read_tag_change(body: Json) -> TagChange:
    version = _number(body, "newVersion")
    return TagChange(
        added=_tags(body, "tagsToAdd"),
        removed=_tags(body, "tagsToRemove"),
        new_version=None if version is None or version <= 0 else version,
        metadata=_shaped(read_metadata, body.get("metadata")),
        rule_set=_shaped(read_rule_set, body.get("ruleSet")),
        rules_to_merge=_shaped(read_rule_set, body.get("rulesToMerge")),
        rules_to_remove=tuple(_texts(body, "rulesToRemove")),
    )


# -- fields -----------------------------------------------------------------------------------------------------------


def _shaped(read: Callable[[Any], T], given: Any) -> T:
    try:
        return read(given)
    except WrongShape as error:
        raise RegistryError(_BAD_REQUEST, str(error)) from None


def _tags(body: Json, name: str) -> Tags:
    """Several entries for one place count together."""
    found: dict[Entity, list[str]] = {}
    for one in _typed(body, name, list, "a list") or ():
        if not isinstance(one, dict):
            raise RegistryError(_BAD_REQUEST, f"{name} has {kind_of(one)}, not JSON objects")
        entity = _typed(one, "schemaEntity", dict, "a JSON object") or {}
        path, kind = _text(entity, "entityPath"), _text(entity, "entityType")
        if path is None or kind not in ENTITY_TYPES.values():
            raise RegistryError(
                _BAD_REQUEST,
                f"{name} needs a schemaEntity with an entityPath and with entityType sr_record or sr_field",
            )
        tagged = Entity(path.removeprefix("."), is_record=kind == ENTITY_TYPES[True])
        found.setdefault(tagged, []).extend(_texts(one, "tags"))
    return found


def _text(body: Json, name: str) -> str | None:
    found: str | None = _typed(body, name, str, "a text")
    return found


def _texts(body: Json, name: str) -> list[str]:
    found: list[Any] = _typed(body, name, list, "a list") or []
    for one in found:
        if not isinstance(one, str):
            raise RegistryError(_BAD_REQUEST, f"{name} has {kind_of(one)}, not texts")
    return found


def _number(body: Json, name: str) -> int | None:
    found: int | None = _typed(body, name, int, "a number")
    if isinstance(found, bool) or (found is not None and abs(found) > _NUMBER_MAX):
        raise RegistryError(_BAD_REQUEST, f"{name} is not a number of 32 bits")
    return found


def _typed(body: Json, name: str, wanted: type, what: str) -> Any:
    found = body.get(name)
    if found is not None and not isinstance(found, wanted):
        raise RegistryError(_BAD_REQUEST, f"{name} is {kind_of(found)}, not {what}")
    return found
