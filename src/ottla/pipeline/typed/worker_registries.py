"""One client for each registry in each process of Spark, with the schemas that it has read.

Spark reuses its workers, so a registry is asked for a schema once by each of them. A worker is forked from a daemon
that never asks, so a client always belongs to the process that made it; the process id is for programs that fork
themselves.
"""

from __future__ import annotations

import atexit
import os
import threading

from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings

_lock = threading.Lock()
_known: dict[tuple[int, RegistryClientSettings], KnownSchemas] = {}


def known_schemas(settings: RegistryClientSettings) -> KnownSchemas:
    """Its client is closed when the process ends."""
    key = (os.getpid(), settings)
    with _lock:
        if key not in _known:
            client = RegistryClient(settings)
            atexit.register(client.close)
            _known[key] = KnownSchemas(client)
        return _known[key]
