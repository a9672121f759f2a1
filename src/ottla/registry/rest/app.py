"""The application: routes from the table of requests, and the errors that belong to none of them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.registry.errors import RegistryError, store_failed
from ottla.registry.rest.admission import check_may_change
from ottla.registry.rest.answers import MEDIA_TYPE, refuse
from ottla.registry.rest.call import Call
from ottla.registry.rest.encoded_paths import EncodedPaths
from ottla.registry.rest.endpoints import ENDPOINTS, Endpoint
from ottla.registry.rest.forwarding import Forwarding
from ottla.registry.rest.freshness import look_again
from ottla.registry.service import Registry

logger = logging.getLogger("ottla.registry")

_WRITTEN_TYPES: Final = ("*/*", "application/*", MEDIA_TYPE, "application/vnd.schemaregistry+json", "application/json")


def make_app(registry: Registry, client: httpx.AsyncClient, *, body_bytes_max: int) -> Starlette:
    """`client` reaches the other instances; `body_bytes_max` is size.limit.filter.max.request.body.size."""
    forwarding = Forwarding(registry, client, body_bytes_max)
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    def serve(endpoints: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
        allowed = ", ".join(sorted({*endpoints, "OPTIONS"} | ({"HEAD"} if "GET" in endpoints else set())))

        async def handle(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(headers={"allow": allowed})
            endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
            request.scope["endpoint"] = endpoint.handler
            _check_accepted(request)
            if endpoint.is_led:
                check_may_change(request.scope)
            if endpoint.is_led and not registry.is_leading:
                return await forwarding.forward(request)
            call = Call(registry, request, endpoint.parameters, body_bytes_max)
            return await look_again(registry, partial(endpoint.handler, call))

        return handle

    app = Starlette(
        routes=[Route(path, serve(one), methods=[*one, "OPTIONS"]) for path, one in by_path.items()],
        middleware=[Middleware(EncodedPaths)],
        exception_handlers={RegistryError: _refused, HTTPException: _no_such_path, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return app


def _check_accepted(request: Request) -> None:
    given = request.headers.get("accept")
    if given and not any(one.partition(";")[0].strip().lower() in _WRITTEN_TYPES for one in given.split(",")):
        raise RegistryError(406, f"HTTP 406 Not Acceptable: answers are {MEDIA_TYPE} or application/json")


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RegistryError)
    return refuse(error)


async def _no_such_path(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refuse(RegistryError(error.status_code, f"HTTP {error.status_code} {error.detail}"), error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refuse(store_failed("The registry failed; its log says why"))
