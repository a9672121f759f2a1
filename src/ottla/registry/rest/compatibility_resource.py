"""Whether a schema could follow the versions that a subject has."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from ottla.registry.conflicts import describe_conflicts
from ottla.registry.registration import Registration, find_conflicts_of, next_version_of, read_schema
from ottla.registry.rest.answers import answer
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import VERBOSE
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.compatibility import Conflict


async def check_version(call: Call) -> Response:
    return await _check(call, [call.stored()])


async def check_subject(call: Call) -> Response:
    return await _check(call, call.state.all_of(call.subject()))


async def _check(call: Call, versions: list[StoredSchema]) -> Response:
    asked = await call.registration()
    conflicts = await asyncio.to_thread(_find_conflicts, call, asked, versions)
    fields: dict[str, Any] = {"is_compatible": not conflicts}
    if call.flag(VERBOSE):
        fields["messages"] = describe_conflicts(conflicts, next_version_of(call.state, asked.subject))
    return answer(fields)


def _find_conflicts(call: Call, asked: Registration, versions: list[StoredSchema]) -> list[Conflict]:
    parse = call.registry.parser(call.state)
    parsed = read_schema(asked, parse, is_new=True)
    return find_conflicts_of(call.state, asked, parsed, versions, call.registry.defaults, parse)
