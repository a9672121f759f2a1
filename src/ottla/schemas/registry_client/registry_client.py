"""What can be asked of a registry, and changed in it. What never changes is remembered.

A schema keeps its id, its guid, and its place as a version of a subject for ever, so answers about these are kept. An
id that is not there may come: that is remembered for seconds, so that a topic full of foreign records does not ask for
each of them. The newest version of a subject is asked for each time.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self
from urllib.parse import quote
from uuid import UUID

from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal
from ottla.schemas.registry_client.exchange import Exchange
from ottla.schemas.registry_client.registered import RegisteredSchema, read_registered, schema_fields
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.schemas.schema import Schema

LATEST: Final = "latest"
_KEPT_MAX: Final = 10_000
_MISSING_KEPT_S: Final = 10.0


class RegistryClient:
    """Its methods raise RegistryRefusal, and RegistryUnreachable if no registry answers."""

    def __init__(self, settings: RegistryClientSettings, now_s: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._exchange = Exchange(settings)
        self._now_s = now_s
        # The one that was used last comes last. A refusal is kept with the time at which it is forgotten.
        self._kept: OrderedDict[object, RegisteredSchema | tuple[RegistryRefusal, float]] = OrderedDict()

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

        return self._remember(("id", schema_id, subject), ask)

    def schema_by_guid(self, guid: UUID) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            return read_registered(self._exchange.ask("GET", f"/schemas/guids/{guid}"))

        return self._remember(("guid", guid), ask)

    def version(self, subject: str, version: int | str = LATEST, *, deleted: bool = False) -> RegisteredSchema:
        def ask() -> RegisteredSchema:
            path = f"/subjects/{_quoted(subject)}/versions/{version}"
            return read_registered(self._exchange.ask("GET", path, deleted=_flag(deleted)))

        return ask() if version in (LATEST, -1, "-1") else self._remember((subject, int(version), deleted), ask)

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
        return int(self._exchange.ask("POST", path, body, normalize=_flag(normalises))["id"])

    def find_conflicts(self, subject: str, schema: Schema, version: int | str | None = None) -> list[str] | None:
        """What keeps a schema from becoming the next version, in the registry's words; None if nothing does.

        Without a version it is compared with all that the subject's level names.
        """
        place = "" if version is None else f"/{version}"
        path = f"/compatibility/subjects/{_quoted(subject)}/versions{place}"
        answer = self._exchange.ask("POST", path, schema_fields(schema), verbose="true")
        return None if answer["is_compatible"] else [str(one) for one in answer.get("messages") or ()]

    # -- subjects -----------------------------------------------------------------------------------------------------

    def subjects(self, prefix: str | None = None, *, deleted: bool = False) -> list[str]:
        found: list[str] = self._exchange.ask("GET", "/subjects", subjectPrefix=prefix, deleted=_flag(deleted))
        return found

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        path = f"/subjects/{_quoted(subject)}/versions"
        found: list[int] = self._exchange.ask("GET", path, deleted=_flag(deleted))
        return found

    def delete_subject(self, subject: str, *, is_permanent: bool = False) -> list[int]:
        """The versions that were deleted."""
        path = f"/subjects/{_quoted(subject)}"
        gone: list[int] = self._exchange.ask("DELETE", path, permanent=_flag(is_permanent))
        self._kept.clear()
        return gone

    def delete_version(self, subject: str, version: int | str, *, is_permanent: bool = False) -> int:
        path = f"/subjects/{_quoted(subject)}/versions/{version}"
        gone = int(self._exchange.ask("DELETE", path, permanent=_flag(is_permanent)))
        self._kept.clear()
        return gone

    # -- settings -----------------------------------------------------------------------------------------------------

    def config(self, subject: str | None = None, *, defaults: bool = True) -> dict[str, Any]:
        """Of a subject, or of the whole registry; with what holds by default, unless only a subject's own is wanted."""
        fields: dict[str, Any] = self._exchange.ask("GET", f"/config{_place(subject)}", defaultToGlobal=_flag(defaults))
        return fields

    def change_config(self, fields: Mapping[str, Any], subject: str | None = None) -> dict[str, Any]:
        changed: dict[str, Any] = self._exchange.ask("PUT", f"/config{_place(subject)}", fields)
        return changed

    def delete_config(self, subject: str | None = None) -> dict[str, Any]:
        before: dict[str, Any] = self._exchange.ask("DELETE", f"/config{_place(subject)}")
        return before

    def mode(self, subject: str | None = None) -> str:
        return str(self._exchange.ask("GET", f"/mode{_place(subject)}", defaultToGlobal="true")["mode"])

    def change_mode(self, mode: str, subject: str | None = None, *, is_forced: bool = False) -> str:
        fields = self._exchange.ask("PUT", f"/mode{_place(subject)}", {"mode": mode}, force=_flag(is_forced))
        return str(fields["mode"])

    def delete_mode(self, subject: str) -> str:
        return str(self._exchange.ask("DELETE", f"/mode{_place(subject)}")["mode"])

    # -- what is remembered -------------------------------------------------------------------------------------------

    def _remember(self, key: Sequence[object], ask: Callable[[], RegisteredSchema]) -> RegisteredSchema:
        kept = self._kept.get(key)
        if isinstance(kept, tuple):
            refusal, until_s = kept
            if self._now_s() < until_s:
                raise refusal
            kept = None
        if kept is None:
            try:
                kept = ask()
            except RegistryRefusal as refusal:
                if refusal.code in NOT_FOUND_CODES:
                    self._keep(key, (refusal, self._now_s() + _MISSING_KEPT_S))
                raise
            self._keep(key, kept)
        else:
            self._kept.move_to_end(key)
        return kept

    def _keep(self, key: object, what: RegisteredSchema | tuple[RegistryRefusal, float]) -> None:
        self._kept[key] = what
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _place(subject: str | None) -> str:
    return "" if subject is None else f"/{_quoted(subject)}"


def _flag(value: bool) -> str | None:
    return "true" if value else None
