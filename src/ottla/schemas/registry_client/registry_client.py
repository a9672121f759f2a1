"""What can be asked of a registry, and changed in it. What never changes is remembered.

A schema keeps its id and its guid for ever, and its place as a version of a subject until that is deleted for good, so
answers about these are kept. The newest version of a subject is asked for each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self
from urllib.parse import quote
from uuid import UUID

from ottla.schemas.registry_client.errors import (
    NO_SUBJECT_CONFIG,
    NO_SUBJECT_MODE,
    RegistryRefusal,
    UnexpectedAnswer,
)
from ottla.schemas.registry_client.exchange import Exchange
from ottla.schemas.registry_client.memory import Memory
from ottla.schemas.registry_client.registered import RegisteredSchema, read_registered, schema_fields
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.schemas.schema import Schema

LATEST: Final = "latest"


class RegistryClient:
    """Its methods raise RegistryRefusal, RegistryUnreachable if no registry serves them, and UnexpectedAnswer."""

    def __init__(self, settings: RegistryClientSettings, now_s: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._exchange = Exchange(settings)
        self._memory = Memory(now_s)

    def close(self) -> None:
        self._exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- schemas ------------------------------------------------------------------------------------------------------

    def schema_by_id(self, schema_id: int, subject: str | None = None) -> RegisteredSchema:
        """A subject says which context is meant, if ids of several are in use."""

        def ask() -> RegisteredSchema:
            fields = self._exchange.ask("GET", f"/schemas/ids/{schema_id}", subject=subject)
            return read_registered(fields, schema_id)

        return self._memory.remember(("id", schema_id, subject), ask)

    def schema_by_guid(self, guid: UUID) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            return read_registered(self._exchange.ask("GET", f"/schemas/guids/{guid}"))

        return self._memory.remember(("guid", guid), ask)

    def places_of(self, schema_id: int) -> list[tuple[str, int]]:
        """The subjects and versions that have a schema."""
        found = self._exchange.ask("GET", f"/schemas/ids/{schema_id}/versions")
        with _expected():
            return [(str(one["subject"]), int(one["version"])) for one in found]

    def version(self, subject: str, version: int | str = LATEST, *, deleted: bool = False) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            path = f"/subjects/{_quoted(subject)}/versions/{_quoted(str(version))}"
            return read_registered(self._exchange.ask("GET", path, deleted=_flag(deleted)))

        if version in (LATEST, -1, "-1"):
            return ask()
        return self._memory.remember(("version", subject, str(version), deleted), ask)

    def look_up(self, subject: str, schema: Schema, *, normalises: bool = False) -> RegisteredSchema:
        """The version of a subject that has this schema."""
        path = f"/subjects/{_quoted(subject)}"
        return read_registered(self._exchange.ask("POST", path, schema_fields(schema), normalize=_flag(normalises)))

    def register(
        self, subject: str, schema: Schema, *, normalises: bool = False, more: Mapping[str, Any] | None = None
    ) -> int:
        """The schema's id, old or new. `more` are further fields, such as metadata and ruleSet."""
        body = {**schema_fields(schema), **(more or {})}
        path = f"/subjects/{_quoted(subject)}/versions"
        answer = self._exchange.ask("POST", path, body, normalize=_flag(normalises))
        self._memory.forget_missing()
        with _expected():
            return int(answer["id"])

    def find_conflicts(self, subject: str, schema: Schema, version: int | str | None = None) -> list[str] | None:
        """What keeps a schema from becoming the next version, in the registry's words; None if nothing does.

        Without a version it is compared with all that the subject's level names.
        """
        place = "" if version is None else f"/{_quoted(str(version))}"
        path = f"/compatibility/subjects/{_quoted(subject)}/versions{place}"
        answer = self._exchange.ask("POST", path, schema_fields(schema), verbose="true")
        with _expected():
            return None if answer["is_compatible"] else [str(one) for one in answer.get("messages") or ()]

    # -- subjects -----------------------------------------------------------------------------------------------------

    def subjects(self, prefix: str | None = None, *, deleted: bool = False) -> list[str]:
        found = self._exchange.ask("GET", "/subjects", subjectPrefix=prefix, deleted=_flag(deleted))
        with _expected():
            return [str(one) for one in found]

    def newest_versions(self, prefix: str | None = None, *, deleted: bool = False) -> list[RegisteredSchema]:
        """The newest version of each subject."""
        found = self._exchange.ask("GET", "/schemas", subjectPrefix=prefix, latestOnly="true", deleted=_flag(deleted))
        with _expected():
            return [read_registered(one) for one in found]

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        found = self._exchange.ask("GET", f"/subjects/{_quoted(subject)}/versions", deleted=_flag(deleted))
        with _expected():
            return [int(one) for one in found]

    def referrers(self, subject: str, version: int) -> list[int]:
        """The ids of the schemas that refer to a version."""
        found = self._exchange.ask("GET", f"/subjects/{_quoted(subject)}/versions/{version}/referencedby")
        with _expected():
            return [int(one) for one in found]

    def delete_subject(self, subject: str, *, is_permanent: bool = False) -> list[int]:
        """The versions that were deleted. What is deleted for good must have been deleted before."""
        gone = self._exchange.ask("DELETE", f"/subjects/{_quoted(subject)}", permanent=_flag(is_permanent))
        self._memory.forget()
        with _expected():
            return [int(one) for one in gone]

    def delete_version(self, subject: str, version: int | str, *, is_permanent: bool = False) -> int:
        path = f"/subjects/{_quoted(subject)}/versions/{_quoted(str(version))}"
        gone = self._exchange.ask("DELETE", path, permanent=_flag(is_permanent))
        self._memory.forget()
        with _expected():
            return int(gone)

    # -- settings -----------------------------------------------------------------------------------------------------

    def config(self, subject: str | None = None) -> dict[str, Any]:
        """What holds for a subject, or for the whole registry."""
        return _object(self._exchange.ask("GET", f"/config{_place(subject)}", defaultToGlobal="true"))

    def own_config(self, subject: str) -> dict[str, Any] | None:
        """What was set for a subject itself."""
        try:
            return _object(self._exchange.ask("GET", f"/config{_place(subject)}"))
        except RegistryRefusal as refusal:
            if refusal.code != NO_SUBJECT_CONFIG:
                raise
            return None

    def change_config(self, fields: Mapping[str, Any], subject: str | None = None) -> dict[str, Any]:
        return _object(self._exchange.ask("PUT", f"/config{_place(subject)}", fields))

    def delete_config(self, subject: str | None = None) -> dict[str, Any]:
        """What held before."""
        return _object(self._exchange.ask("DELETE", f"/config{_place(subject)}"))

    def mode(self, subject: str | None = None) -> str:
        """What holds for a subject, or for the whole registry."""
        return _mode(self._exchange.ask("GET", f"/mode{_place(subject)}", defaultToGlobal="true"))

    def own_mode(self, subject: str) -> str | None:
        """What was set for a subject itself."""
        try:
            return _mode(self._exchange.ask("GET", f"/mode{_place(subject)}"))
        except RegistryRefusal as refusal:
            if refusal.code != NO_SUBJECT_MODE:
                raise
            return None

    def change_mode(self, mode: str, subject: str | None = None, *, is_forced: bool = False) -> str:
        return _mode(self._exchange.ask("PUT", f"/mode{_place(subject)}", {"mode": mode}, force=_flag(is_forced)))

    def delete_mode(self, subject: str) -> str:
        """What held before."""
        return _mode(self._exchange.ask("DELETE", f"/mode{_place(subject)}"))


@contextmanager
def _expected() -> Iterator[None]:
    """What does not look like an answer of a registry is told as that."""
    try:
        yield
    except UnexpectedAnswer:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"the registry's answer is not what was asked for: {error!r}") from None


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise UnexpectedAnswer(f"the registry's answer is not what was asked for: {answer!r:.100}")
    return answer


def _mode(answer: Any) -> str:
    with _expected():
        return str(answer["mode"])


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _place(subject: str | None) -> str:
    return "" if subject is None else f"/{_quoted(subject)}"


def _flag(value: bool) -> str | None:
    return "true" if value else None
