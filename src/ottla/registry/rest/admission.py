"""Asks who it is before anything else happens, and tells the handlers what they may do.

A request that was forwarded has its client's Authorization header, so the leader decides with the same knowledge.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ottla.registry.authentication import AuthenticationSettings, Authenticator
from ottla.registry.errors import RegistryError
from ottla.registry.rest.answers import answer

_MAY_CHANGE: Final = "ottla.may_change"


class Admission:
    """Around an app: those who are nobody, or lack a role, do not get in."""

    def __init__(self, app: ASGIApp, settings: AuthenticationSettings, authenticator: Authenticator) -> None:
        self._app = app
        self._settings = settings
        self._authenticator = authenticator
        realm = settings.realm.replace("\\", "\\\\").replace('"', '\\"')
        self._challenge = f'Basic realm="{realm}", charset="UTF-8"'

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._settings.is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        user = await self._authenticator.identify(Headers(scope=scope).get("authorization"))
        if user is None:
            refusal = answer({"error_code": 401, "message": "Unauthorized"}, 401)
            refusal.headers["WWW-Authenticate"] = self._challenge
            await refusal(scope, receive, send)
        elif not self._settings.admits(user):
            await answer({"error_code": 403, "message": "Forbidden"}, 403)(scope, receive, send)
        else:
            scope[_MAY_CHANGE] = self._settings.may_change(user)
            await self._app(scope, receive, send)


def check_may_change(scope: Scope) -> None:
    """RegistryError for a user that may only read."""
    if not scope.get(_MAY_CHANGE, True):
        raise RegistryError(40301, "User is denied operation Write: all its roles are in authentication.readonly.roles")
