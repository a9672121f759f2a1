"""Settings and modes: of the registry, of contexts, of subjects."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from ottla.registry.errors import no_subject_config, no_subject_mode
from ottla.registry.identity import Json
from ottla.registry.rest.answers import answer
from ottla.registry.rest.bodies import read_settings, rename_level
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import DEFAULT_TO_GLOBAL, FORCE, RECURSIVE
from ottla.registry.scopes import Mode, config_in_scope, mode_in_scope
from ottla.registry.setting_changes import change_config as decide_config_change
from ottla.registry.setting_changes import change_mode as decide_mode_change
from ottla.registry.setting_changes import delete_config as decide_config_deletion
from ottla.registry.setting_changes import delete_mode as decide_mode_deletion


async def get_config(call: Call) -> Response:
    scope = call.scope()
    if scope is None or call.flag(DEFAULT_TO_GLOBAL):
        return answer(config_in_scope(call.state, scope, call.registry.defaults))
    if scope not in call.state.configs:
        raise no_subject_config(scope)
    return answer(call.state.configs[scope])


async def change_config(call: Call) -> Response:
    asked = read_settings(await call.body())
    changed: Json = await call.registry.write(partial(decide_config_change, scope=call.scope(), asked=asked))
    return answer(rename_level(changed))


async def delete_config(call: Call) -> Response:
    decide = partial(decide_config_deletion, scope=call.scope(), defaults=call.registry.defaults)
    return answer(await call.registry.write(decide))


async def get_mode(call: Call) -> Response:
    scope = call.scope()
    if scope is not None and scope not in call.state.modes and not call.flag(DEFAULT_TO_GLOBAL):
        raise no_subject_mode(scope)
    return _show(mode_in_scope(call.state, scope))


async def change_mode(call: Call) -> Response:
    given = (await call.body()).get("mode")
    decide = partial(
        decide_mode_change,
        scope=call.scope(),
        given=given,
        defaults=call.registry.defaults,
        is_forced=call.flag(FORCE),
    )
    mode: Mode = await call.registry.write(decide)
    return _show(mode)


async def delete_mode(call: Call) -> Response:
    decide = partial(
        decide_mode_deletion,
        scope=call.scope(),
        defaults=call.registry.defaults,
        is_recursive=call.flag(RECURSIVE),
    )
    return _show(await call.registry.write(decide))


def _show(mode: Mode | None) -> Response:
    return answer({} if mode is None else {"mode": str(mode)})
