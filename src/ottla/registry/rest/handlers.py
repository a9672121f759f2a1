"""Each request of the API: what it names, who decides, and how the answer looks."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ottla.registry import queries
from ottla.registry.deletion import delete_subject, delete_version
from ottla.registry.errors import RegistryError, invalid_schema, no_subject_config, no_subject_mode
from ottla.registry.identity import Json
from ottla.registry.lookup import look_up
from ottla.registry.queries import LATEST, Shown, read_version, resolve_alias
from ottla.registry.registration import Registration, describe_conflict, find_conflicts_of, read_schema, register_schema
from ottla.registry.rest.answers import answer, answer_text, show_schema
from ottla.registry.rest.bodies import flag, number, path_id, read_object, read_registration
from ottla.registry.scopes import Mode, config_in_scope, mode_in_scope
from ottla.registry.service import Registry
from ottla.registry.setting_changes import change_config, change_mode, delete_config, delete_mode
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import check_subject
from ottla.schemas.errors import SchemaError
from ottla.schemas.schema import SchemaType

T = TypeVar("T")
_ALL: Final = -1


class Handlers:
    def __init__(self, registry: Registry, body_bytes_max: int) -> None:
        self._registry = registry
        self._body_bytes_max = body_bytes_max

    async def root(self, _request: Request) -> Response:
        return answer({})

    # -- schemas ------------------------------------------------------------------------------------------------------

    async def list_types(self, _request: Request) -> Response:
        return answer([str(one) for one in (SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO)])

    async def search_schemas(self, request: Request) -> Response:
        found = queries.search_schemas(
            self._registry.state,
            request.query_params.get("subjectPrefix", ":*:"),
            Shown.of(deleted=flag(request, "deleted"), deleted_only=False),
            latest_only=flag(request, "latestOnly"),
            rule_type=request.query_params.get("ruleType"),
        )
        return answer([one.to_json() for one in _page(request, found)])

    async def get_id(self, request: Request) -> Response:
        stored = self._with_id(request)
        fields = show_schema(stored, self._formatted(request, stored))
        if flag(request, "fetchMaxId"):
            fields["maxId"] = max(self._registry.state.highest_ids.values(), default=0)
        return answer(fields)

    async def get_id_text(self, request: Request) -> Response:
        stored = self._with_id(request)
        return answer_text(self._formatted(request, stored))

    async def list_subjects_of_id(self, request: Request) -> Response:
        return answer([one.subject for one in _page(request, self._versions_of_id(request))])

    async def list_versions_of_id(self, request: Request) -> Response:
        found = self._versions_of_id(request)
        return answer([{"subject": one.subject, "version": one.version} for one in _page(request, found)])

    async def get_guid(self, request: Request) -> Response:
        stored = queries.find_guid(self._registry.state, request.path_params["guid"])
        return answer(show_schema(stored, self._formatted(request, stored)))

    async def list_ids_of_guid(self, request: Request) -> Response:
        found = queries.list_ids_of_guid(self._registry.state, request.path_params["guid"])
        return answer([{"context": one.context, "id": one.id} for one in found])

    # -- subjects and versions ----------------------------------------------------------------------------------------

    async def list_contexts(self, request: Request) -> Response:
        return answer(_page(request, self._registry.state.contexts))

    async def list_subjects(self, request: Request) -> Response:
        prefix = request.query_params.get("subjectPrefix", ":*:")
        return answer(_page(request, queries.list_subjects(self._registry.state, prefix, _shown(request))))

    async def list_versions(self, request: Request) -> Response:
        found = queries.list_versions(self._registry.state, self._subject(request), _shown(request))
        marks = flag(request, "deletedAsNegative")
        return answer(_page(request, [-one.version if marks and one.is_deleted else one.version for one in found]))

    async def get_version(self, request: Request) -> Response:
        stored = self._version(request)
        return answer(stored.to_json() | {"schema": self._formatted(request, stored)})

    async def get_version_text(self, request: Request) -> Response:
        return answer_text(self._formatted(request, self._version(request)))

    async def list_referrers(self, request: Request) -> Response:
        return answer(_page(request, queries.list_referrers(self._registry.state, self._version(request))))

    async def get_with_properties(self, request: Request) -> Response:
        names, values = request.query_params.getlist("key"), request.query_params.getlist("value")
        if len(names) != len(values):
            raise RegistryError(422, "There must be as many values as keys")
        wanted = dict(zip(names, values, strict=True))
        stored = queries.find_with_properties(
            self._registry.state, self._subject(request), wanted, deleted=flag(request, "deleted")
        )
        return answer(stored.to_json() | {"schema": self._formatted(request, stored)})

    async def register(self, request: Request) -> Response:
        asked = await self._registration(request)
        decide = partial(register_schema, asked=asked, defaults=self._registry.defaults, parse=self._registry.parse)
        registered = await self._registry.write(decide)
        stored = registered.stored
        # Clients of today take a text for one that they can serialize with, so it is told only if it has become another
        # one. The guid is what they put into headers.
        return answer(stored.to_json() if registered.is_completed else {"id": stored.id, "guid": str(stored.guid)})

    async def look_up(self, request: Request) -> Response:
        asked = await self._registration(request)
        stored = look_up(
            self._registry.state,
            asked,
            deleted=flag(request, "deleted"),
            defaults=self._registry.defaults,
            parse=self._registry.parse,
        )
        return answer(stored.to_json() | {"schema": self._formatted(request, stored)})

    async def delete_subject(self, request: Request) -> Response:
        subject = self._subject(request)
        decide = partial(delete_subject, subject=subject, is_permanent=flag(request, "permanent"))
        return answer(await self._registry.write(decide))

    async def delete_version(self, request: Request) -> Response:
        subject, wanted = self._subject(request), read_version(request.path_params["version"])
        is_permanent = flag(request, "permanent")
        if wanted == LATEST:
            wanted = queries.find_version(self._registry.state, subject, LATEST).version
        decide = partial(delete_version, subject=subject, version=wanted, is_permanent=is_permanent)
        return answer(await self._registry.write(decide))

    # -- compatibility ------------------------------------------------------------------------------------------------

    async def check_version(self, request: Request) -> Response:
        subject = self._subject(request)
        wanted = read_version(request.path_params["version"])
        stored = queries.find_version(self._registry.state, subject, wanted)
        return await self._check(request, [stored])

    async def check_subject(self, request: Request) -> Response:
        return await self._check(request, self._registry.state.all_of(self._subject(request)))

    async def _check(self, request: Request, versions: list[StoredSchema]) -> Response:
        registry = self._registry
        asked = await self._registration(request)
        parsed = read_schema(asked, registry.parse, is_new=True)
        conflicts = find_conflicts_of(registry.state, asked, parsed, versions, registry.defaults, registry.parse)
        fields: dict[str, Any] = {"is_compatible": not conflicts}
        if flag(request, "verbose"):
            fields["messages"] = [describe_conflict(one) for one in conflicts]
        return answer(fields)

    # -- settings -----------------------------------------------------------------------------------------------------

    async def get_config(self, request: Request) -> Response:
        state, scope = self._registry.state, self._scope(request)
        if scope is None or flag(request, "defaultToGlobal"):
            return answer(config_in_scope(state, scope, self._registry.defaults))
        if scope not in state.configs:
            raise no_subject_config(scope)
        return answer(state.configs[scope])

    async def change_config(self, request: Request) -> Response:
        body = await read_object(request, self._body_bytes_max)
        # Requests and answers to them call it `compatibility`, everything else `compatibilityLevel`.
        fields = {"compatibilityLevel" if name == "compatibility" else name: value for name, value in body.items()}
        decide = partial(change_config, scope=self._scope(request), asked=fields)
        changed: Json = await self._registry.write(decide)
        return answer({"compatibility" if name == "compatibilityLevel" else name: one for name, one in changed.items()})

    async def delete_config(self, request: Request) -> Response:
        decide = partial(delete_config, scope=self._scope(request), defaults=self._registry.defaults)
        return answer(await self._registry.write(decide))

    async def get_mode(self, request: Request) -> Response:
        state, scope = self._registry.state, self._scope(request)
        if scope is not None and scope not in state.modes and not flag(request, "defaultToGlobal"):
            raise no_subject_mode(scope)
        return answer({"mode": str(mode_in_scope(state, scope))})

    async def change_mode(self, request: Request) -> Response:
        body = await read_object(request, self._body_bytes_max)
        decide = partial(
            change_mode,
            scope=self._scope(request),
            given=body.get("mode"),
            defaults=self._registry.defaults,
            is_forced=flag(request, "force"),
        )
        mode: Mode = await self._registry.write(decide)
        return answer({"mode": str(mode)})

    async def delete_mode(self, request: Request) -> Response:
        scope = self._scope(request)
        assert scope is not None
        mode: Mode = await self._registry.write(partial(delete_mode, scope=scope, defaults=self._registry.defaults))
        return answer({"mode": str(mode)})

    # -- what requests name -------------------------------------------------------------------------------------------

    def _subject(self, request: Request) -> str:
        return resolve_alias(self._registry.state, check_subject(request.path_params["subject"]))

    def _scope(self, request: Request) -> str | None:
        given = request.path_params.get("subject")
        return None if given is None else check_subject(given, may_be_context=True)

    def _version(self, request: Request) -> StoredSchema:
        return queries.find_version(
            self._registry.state,
            self._subject(request),
            read_version(request.path_params["version"]),
            deleted=flag(request, "deleted"),
        )

    def _with_id(self, request: Request) -> StoredSchema:
        return queries.find_id(self._registry.state, path_id(request), _subject_parameter(request))

    def _versions_of_id(self, request: Request) -> list[StoredSchema]:
        return queries.list_versions_of_id(
            self._registry.state, path_id(request), _subject_parameter(request), deleted=flag(request, "deleted")
        )

    async def _registration(self, request: Request) -> Registration:
        subject = self._subject(request)
        body = await read_object(request, self._body_bytes_max)
        by_default = config_in_scope(self._registry.state, subject, self._registry.defaults).get("normalize") is True
        return read_registration(subject, body, normalises=flag(request, "normalize", default=by_default))

    def _formatted(self, request: Request, stored: StoredSchema) -> str:
        form = request.query_params.get("format", "")
        if not form:
            return stored.schema.text
        try:
            return self._registry.parse(stored.subject, stored.schema, False).formatted(form)
        except SchemaError as error:
            raise invalid_schema(f"The schema cannot be shown as {form}: {error}") from error


def _subject_parameter(request: Request) -> str | None:
    given = request.query_params.get("subject")
    return None if not given else check_subject(given, may_be_context=True)


def _shown(request: Request) -> Shown:
    return Shown.of(deleted=flag(request, "deleted"), deleted_only=flag(request, "deletedOnly"))


def _page(request: Request, found: list[T]) -> list[T]:
    offset, limit = max(number(request, "offset", 0), 0), number(request, "limit", _ALL)
    return found[offset:] if limit < 0 else found[offset : offset + limit]
