"""Looks again before it says that something is not there.

An instance may be a moment behind the one where a schema was registered. What it knows of ids and versions stays true;
only that something is missing may be wrong by now. So it reads the topic to its end first, and decides again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response

from ottla.registry.errors import RegistryError
from ottla.registry.service import Registry

# Confluent's codes for things that are missing begin here; 404 alone is a path that does not exist.
_MISSING: Final = range(40400, 40500)


async def look_again(registry: Registry, serve: Callable[[], Awaitable[Response]]) -> Response:
    """What `serve` answers; it is asked a second time if something is missing, and there is more to know by then."""
    state = registry.state
    try:
        return await serve()
    except RegistryError as missing:
        if missing.code not in _MISSING:
            raise
        await registry.refresh()
        if registry.state is state:
            raise
    return await serve()
