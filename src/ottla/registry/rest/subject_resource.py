"""Subjects and their versions, and the contexts that hold them."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.responses import Response

from ottla.registry import queries
from ottla.registry.change import Change
from ottla.registry.deletion import delete_context as decide_context_deletion
from ottla.registry.deletion import delete_subject as decide_subject_deletion
from ottla.registry.deletion import delete_version as decide_version_deletion
from ottla.registry.errors import RegistryError
from ottla.registry.lookup import look_up as find_schema
from ottla.registry.queries import Shown
from ottla.registry.registration import Registered, register_schema
from ottla.registry.rest.answers import answer, answer_nothing, answer_text
from ottla.registry.rest.bodies import read_tag_change
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import DELETED, DELETED_AS_NEGATIVE, DELETED_ONLY, FORMAT, KEY, PERMANENT, VALUE
from ottla.registry.rest.presentation import format_text, show_version
from ottla.registry.state import RegistryState
from ottla.registry.subjects import read_context
from ottla.registry.tagging import change_tags

# -- contexts ---------------------------------------------------------------------------------------------------------


async def list_contexts(call: Call) -> Response:
    return answer(call.page(call.state.contexts))


async def delete_context(call: Call) -> Response:
    await call.registry.write(partial(decide_context_deletion, context=read_context(call.segment("context"))))
    return answer_nothing()


# -- subjects ---------------------------------------------------------------------------------------------------------


async def list_subjects(call: Call) -> Response:
    return answer(call.page(queries.list_subjects(call.state, call.prefix(), call.shown())))


async def look_up(call: Call) -> Response:
    asked = await call.registration()
    stored = await asyncio.to_thread(
        find_schema,
        call.state,
        asked,
        deleted=call.flag(DELETED),
        defaults=call.registry.defaults,
        parse=call.registry.parser(call.state),
    )
    return answer(await show_version(call, stored))


async def delete_subject(call: Call) -> Response:
    decide = partial(decide_subject_deletion, subject=call.subject(), is_permanent=call.flag(PERMANENT))
    return answer(await call.registry.write(decide))


async def get_with_properties(call: Call) -> Response:
    names, values = call.texts(KEY), call.texts(VALUE)
    if len(names) != len(values):
        raise RegistryError(422, f"There are {len(names)} keys and {len(values)} values; each key needs one value")
    wanted = dict(zip(names, values, strict=True))
    stored = queries.find_with_properties(call.state, call.subject(), wanted, deleted=call.flag(DELETED))
    return answer(await show_version(call, stored))


# -- versions ---------------------------------------------------------------------------------------------------------


async def list_versions(call: Call) -> Response:
    marks = call.flag(DELETED_AS_NEGATIVE)
    shown = Shown.of(deleted=call.flag(DELETED) or marks, deleted_only=call.flag(DELETED_ONLY))
    found = queries.list_versions(call.state, call.subject(), shown)
    return answer(call.page([-one.version if marks and one.is_deleted else one.version for one in found]))


async def get_version(call: Call) -> Response:
    return answer(await show_version(call, call.stored(deleted=call.flag(DELETED))))


async def get_version_text(call: Call) -> Response:
    return answer_text(await format_text(call, call.stored(deleted=call.flag(DELETED))))


async def list_referrers(call: Call) -> Response:
    found = queries.list_referrers(call.state, call.stored(deleted=True), deleted=call.flag(DELETED))
    return answer(call.page(found))


async def register(call: Call) -> Response:
    asked = await call.registration()

    def decide(state: RegistryState) -> Change[Registered]:
        return register_schema(state, asked, defaults=call.registry.defaults, parse=call.registry.parser(state))

    return await _show_registered(call, await call.registry.write(decide))


async def tag_version(call: Call) -> Response:
    subject, version = call.subject(), call.version()
    asked = read_tag_change(await call.body())

    def decide(state: RegistryState) -> Change[Registered]:
        return change_tags(
            state, subject, version, asked, defaults=call.registry.defaults, parse=call.registry.parser(state)
        )

    return await _show_registered(call, await call.registry.write(decide))


async def delete_version(call: Call) -> Response:
    decide = partial(
        decide_version_deletion, subject=call.subject(), version=call.version(), is_permanent=call.flag(PERMANENT)
    )
    return answer(await call.registry.write(decide))


async def _show_registered(call: Call, registered: Registered) -> Response:
    # Clients of today take a text for one that they can serialize with, so it is told only if it has become another
    # one, or they ask for it. The guid is what they put into headers.
    stored = registered.stored
    is_asked_for = FORMAT in call.parameters and bool(call.text(FORMAT))
    if not registered.is_completed and not is_asked_for:
        return answer({"id": stored.id, "guid": str(stored.guid)})
    return answer(await show_version(call, stored))
