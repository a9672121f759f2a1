"""Sends changes to the instance that leads, once.

A request that was forwarded says so (`X-Forward`). If it does not meet the leader even then, the leader has just
changed, and the client asks again: instances must not send a request around among themselves. When the leader has
changed something, the follower reads that before it answers: a client that stays with it finds what it has written.
"""

from __future__ import annotations

import contextlib
from typing import Final

import httpx
from starlette.requests import Request
from starlette.responses import Response

from ottla.registry.errors import RegistryError, forwarding_failed, unknown_leader
from ottla.registry.rest.bodies import read_bounded
from ottla.registry.service import Registry

_MARK: Final = "X-Forward"
_CARRIED: Final = ("content-type", "accept", "authorization")


class Forwarding:
    def __init__(self, registry: Registry, client: httpx.AsyncClient, body_bytes_max: int) -> None:
        self._registry = registry
        self._client = client
        self._body_bytes_max = body_bytes_max

    async def forward(self, request: Request) -> Response:
        leader = self._registry.leader_url
        if leader is None or _MARK in request.headers:
            raise unknown_leader("Nobody is known to lead the registry; ask again soon")
        body = await read_bounded(request, self._body_bytes_max)
        headers = {name: request.headers[name] for name in _CARRIED if name in request.headers} | {_MARK: "true"}
        query = request.scope["query_string"].decode("latin-1")
        # The path is still encoded, so that a slash in the name of a subject stays one.
        url = f"{leader}{request.scope['path']}{'?' if query else ''}{query}"
        try:
            answer = await self._client.request(request.method, url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise forwarding_failed(
                f"The leader at {leader} could not be asked: {error or type(error).__name__}"
            ) from error
        if answer.is_success:
            # If that fails, the change was made nevertheless.
            with contextlib.suppress(RegistryError):
                await self._registry.refresh()
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))
