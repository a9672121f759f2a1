"""The class of the response to each kind of request."""

import importlib
from typing import cast

from ottla.protocol.schema import Message


def response_type(request: type[Message]) -> type[Message]:
    """The generated modules of a request and its response are named alike; so are their classes."""
    module = importlib.import_module(f"{request.__module__.removesuffix('_request')}_response")
    return cast(type[Message], getattr(module, f"{request.__name__.removesuffix('Request')}Response"))
