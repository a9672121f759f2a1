"""One module per API, named after its key: k00_produce, k01_fetch, and so on.

A new API is served by adding its module here; the list below is read from the folder, and ApiVersions from the list.
"""

import importlib
import pkgutil
from typing import cast

from ottla.broker.dispatch import HandlerModule


def load_handlers() -> list[HandlerModule]:
    """Every handler module of this folder."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("k"))
    return [cast(HandlerModule, importlib.import_module(f"{__name__}.{name}")) for name in names]
