"""Schemas by id, by guid, and by search."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ottla.registry import queries
from ottla.registry.queries import Shown
from ottla.registry.rest.answers import answer, answer_text
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import ALIASES, DELETED, FETCH_MAX_ID, LATEST_ONLY, RULE_TYPE
from ottla.registry.rest.presentation import format_text, show_schema
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.schema import SchemaType


async def list_types(_call: Call) -> Response:
    return answer([str(one) for one in (SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO)])


async def search(call: Call) -> Response:
    aliases = queries.list_aliases(call.state, call.prefix()) if call.flag(ALIASES) else {}
    found = await asyncio.to_thread(
        queries.search_schemas,
        call.state,
        call.prefix(),
        Shown.of(deleted=call.flag(DELETED), deleted_only=False),
        latest_only=call.flag(LATEST_ONLY),
        rule_type=call.text(RULE_TYPE) or None,
        aliased=aliases,
    )
    shown = []
    for one in call.page(found):
        names = aliases.get(one.subject)
        shown.append(one.to_json() if names is None else one.to_json() | {"aliases": names})
    return answer(shown)


async def get_id(call: Call) -> Response:
    stored = _with_id(call)
    fields = await show_schema(call, stored)
    if call.flag(FETCH_MAX_ID):
        fields["maxId"] = max(call.state.highest_ids.values(), default=0)
    return answer(fields)


async def get_id_text(call: Call) -> Response:
    return answer_text(await format_text(call, _with_id(call)))


async def list_subjects_of_id(call: Call) -> Response:
    return answer(call.page([one.subject for one in _versions_with_id(call)]))


async def list_versions_of_id(call: Call) -> Response:
    return answer(call.page([{"subject": one.subject, "version": one.version} for one in _versions_with_id(call)]))


async def get_guid(call: Call) -> Response:
    stored = queries.find_guid(call.state, call.segment("guid"))
    return answer(await show_schema(call, stored))


async def list_ids_of_guid(call: Call) -> Response:
    found = queries.list_ids_of_guid(call.state, call.segment("guid"))
    return answer([{"context": one.context, "id": one.id} for one in found])


def _with_id(call: Call) -> StoredSchema:
    return queries.find_id(call.state, call.id(), call.subject_parameter())


def _versions_with_id(call: Call) -> list[StoredSchema]:
    return queries.list_versions_of_id(call.state, call.id(), call.subject_parameter(), deleted=call.flag(DELETED))
