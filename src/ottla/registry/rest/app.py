"""The paths of the API, and the errors that belong to none of them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ottla.registry.errors import RegistryError
from ottla.registry.rest.answers import answer, refuse
from ottla.registry.rest.forwarding import Forwarding
from ottla.registry.rest.freshness import look_again
from ottla.registry.rest.handlers import Handlers
from ottla.registry.service import Registry

logger = logging.getLogger("ottla.registry")

Handler = Callable[[Request], Awaitable[Response]]


def make_app(registry: Registry, client: httpx.AsyncClient, *, body_bytes_max: int) -> Starlette:
    """`client` reaches the other instances; `body_bytes_max` is size.limit.filter.max.request.body.size."""
    handlers = Handlers(registry, body_bytes_max)
    lead = Forwarding(registry, client, body_bytes_max).lead
    subject = "/subjects/{subject:path}"
    version = subject + "/versions/{version}"
    paths: list[tuple[str, str, Handler]] = [
        ("GET", "/", handlers.root),
        ("GET", "/schemas/types", handlers.list_types),
        ("GET", "/schemas", handlers.search_schemas),
        ("GET", "/schemas/ids/{id}", handlers.get_id),
        ("GET", "/schemas/ids/{id}/schema", handlers.get_id_text),
        ("GET", "/schemas/ids/{id}/subjects", handlers.list_subjects_of_id),
        ("GET", "/schemas/ids/{id}/versions", handlers.list_versions_of_id),
        ("GET", "/schemas/guids/{guid}", handlers.get_guid),
        ("GET", "/schemas/guids/{guid}/ids", handlers.list_ids_of_guid),
        ("GET", "/contexts", handlers.list_contexts),
        ("GET", "/subjects", handlers.list_subjects),
        ("GET", version + "/schema", handlers.get_version_text),
        ("GET", version + "/referencedby", handlers.list_referrers),
        ("GET", version, handlers.get_version),
        ("DELETE", version, lead(handlers.delete_version)),
        ("GET", subject + "/versions", handlers.list_versions),
        ("POST", subject + "/versions", lead(handlers.register)),
        ("GET", subject + "/metadata", handlers.get_with_properties),
        ("POST", subject, handlers.look_up),
        ("DELETE", subject, lead(handlers.delete_subject)),
        ("POST", "/compatibility/subjects/{subject:path}/versions/{version}", handlers.check_version),
        ("POST", "/compatibility/subjects/{subject:path}/versions", handlers.check_subject),
        ("GET", "/config", handlers.get_config),
        ("PUT", "/config", lead(handlers.change_config)),
        ("DELETE", "/config", lead(handlers.delete_config)),
        ("GET", "/config/{subject:path}", handlers.get_config),
        ("PUT", "/config/{subject:path}", lead(handlers.change_config)),
        ("DELETE", "/config/{subject:path}", lead(handlers.delete_config)),
        ("GET", "/mode", handlers.get_mode),
        ("PUT", "/mode", lead(handlers.change_mode)),
        ("GET", "/mode/{subject:path}", handlers.get_mode),
        ("PUT", "/mode/{subject:path}", lead(handlers.change_mode)),
        ("DELETE", "/mode/{subject:path}", lead(handlers.delete_mode)),
    ]
    return Starlette(
        routes=[Route(path, look_again(registry, handler), methods=[method]) for method, path, handler in paths],
        exception_handlers={
            RegistryError: _refused,
            HTTPException: _no_such_path,
            Exception: _failed,
        },
    )


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RegistryError)
    return refuse(error)


async def _no_such_path(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer(
        {"error_code": error.status_code, "message": f"HTTP {error.status_code} {error.detail}"}, error.status_code
    )


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer({"error_code": 50001, "message": "The registry failed; its log says why"}, 500)
