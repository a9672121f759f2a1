"""Which event loop a process runs on."""

import asyncio


def event_loop_class() -> type[asyncio.AbstractEventLoop]:
    """The fastest kind of event loop that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop
    found: type[asyncio.AbstractEventLoop] = uvloop.Loop
    return found
