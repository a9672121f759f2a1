"""The class of the response to each kind of request."""

import importlib
from typing import Final, cast

from ottla.protocol.schema import Message

# Every request between nodes asks for it.
_found: Final[dict[type[Message], type[Message]]] = {}


def response_type(request: type[Message]) -> type[Message]:
    """The generated modules of a request and its response are named alike; so are their classes."""
    known = _found.get(request)
    if known is None:
        module = importlib.import_module(f"{request.__module__.removesuffix('_request')}_response")
        known = cast(type[Message], getattr(module, f"{request.__name__.removesuffix('Request')}Response"))
        _found[request] = known
    return known
