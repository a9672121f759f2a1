"""One request: what it names in its path, its query and its body, and the registry that it is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from starlette.requests import Request

from ottla.registry import queries
from ottla.registry.errors import RegistryError
from ottla.registry.queries import Shown, read_version, resolve_alias
from ottla.registry.registration import Registration
from ottla.registry.rest.bodies import read_object, read_registration
from ottla.registry.rest.parameters import (
    DELETED,
    DELETED_ONLY,
    LIMIT,
    NORMALIZE,
    OFFSET,
    SUBJECT,
    SUBJECT_PREFIX,
    Kind,
    Parameter,
)
from ottla.registry.scopes import config_in_scope
from ottla.registry.service import Registry
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import ALL_CONTEXTS, check_subject

T = TypeVar("T")
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")
_NUMBER_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Call:
    registry: Registry
    request: Request
    # Those that the table lists for the request.
    parameters: tuple[Parameter, ...]
    body_bytes_max: int

    @property
    def state(self) -> RegistryState:
        return self.registry.state

    # -- the path -----------------------------------------------------------------------------------------------------

    def segment(self, name: str) -> str:
        """Paths are matched as they were sent, so that a subject may have slashes; bytes that are no text stay
        visible as such, and nothing has a name with them."""
        return unquote(self.request.path_params[name], errors="surrogateescape")

    def subject(self) -> str:
        return resolve_alias(self.state, check_subject(self.segment("subject")))

    def scope(self) -> str | None:
        """What settings are for: a subject, a context, or the whole registry."""
        is_named = "subject" in self.request.path_params
        return check_subject(self.segment("subject"), may_be_context=True) if is_named else None

    def version(self) -> int:
        return read_version(self.segment("version"))

    def stored(self, *, deleted: bool = False) -> StoredSchema:
        return queries.find_version(self.state, self.subject(), self.version(), deleted=deleted)

    def id(self) -> int:
        """What is no number is not found, as in Confluent's registry."""
        return _number(self.segment("id"), lowest=0)

    # -- the query ----------------------------------------------------------------------------------------------------

    def text(self, parameter: Parameter, default: str = "") -> str:
        assert parameter in self.parameters, f"{parameter.name} is not listed"
        return self.request.query_params.get(parameter.name, default)

    def texts(self, parameter: Parameter) -> list[str]:
        assert parameter in self.parameters, f"{parameter.name} is not listed"
        assert parameter.kind is Kind.TEXTS
        return self.request.query_params.getlist(parameter.name)

    def flag(self, parameter: Parameter, *, default: bool = False) -> bool:
        """Anything but true is false, as with Java's Boolean."""
        given = self.text(parameter, str(default))
        return given.lower() == "true"

    def number(self, parameter: Parameter, default: int) -> int:
        return _number(self.text(parameter, str(default)))

    def page(self, found: list[T]) -> list[T]:
        offset, limit = max(self.number(OFFSET, 0), 0), self.number(LIMIT, -1)
        return found[offset:] if limit < 0 else found[offset : offset + limit]

    def shown(self) -> Shown:
        return Shown.of(deleted=self.flag(DELETED), deleted_only=self.flag(DELETED_ONLY))

    def prefix(self) -> str:
        return self.text(SUBJECT_PREFIX, ALL_CONTEXTS)

    def subject_parameter(self) -> str | None:
        given = self.text(SUBJECT)
        return check_subject(given, may_be_context=True) if given else None

    # -- the body -----------------------------------------------------------------------------------------------------

    async def body(self) -> dict[str, Any]:
        return await read_object(self.request, self.body_bytes_max)

    async def registration(self) -> Registration:
        subject = self.subject()
        body = await self.body()
        by_default = config_in_scope(self.state, subject, self.registry.defaults).get("normalize") is True
        return read_registration(subject, body, normalises=self.flag(NORMALIZE, default=by_default))


def _number(text: str, lowest: int = -_NUMBER_MAX) -> int:
    if not _NUMBER.fullmatch(text) or not lowest <= int(text) <= _NUMBER_MAX:
        raise RegistryError(404, "HTTP 404 Not Found")
    return int(text)
