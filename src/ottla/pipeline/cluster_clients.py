"""One client per cluster in each process of Spark: Spark reuses its workers, and so their connections are reused.

Options that do not concern the client, such as a transactional id for each run, share one.

A worker is forked from a daemon that never connects, so a client always belongs to the process that made it; the check
of the process id is for programs that fork themselves.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from ottla.client.cluster import ClientSettings
from ottla.client.errors import ClientError
from ottla.client.sync import Client
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.errors import PipelineError

# The process, the addresses, and how the client behaves.
_Key: TypeAlias = tuple[int, str, ClientSettings]

# Longer than a broker takes to restart, and not too long for someone who has mistyped an address.
PATIENCE_S: Final = 15.0
_AGAIN_S: Final = 0.2

_lock = threading.Lock()
_locks: dict[_Key, threading.Lock] = {}
_clients: dict[_Key, Client] = {}


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Report a client's error in words for the person who runs the query."""
    try:
        yield
    except ClientError as error:
        raise PipelineError(f"{what}: {error}") from error


def client_of(cluster: ClusterOptions, patience_s: float = PATIENCE_S) -> Client:
    """Get the client of this process for a cluster; it is closed when the process ends.

    A cluster that cannot be reached may only be restarting, and is retried for `patience_s`.
    """
    key = (os.getpid(), cluster.bootstrap, cluster.settings())
    with _lock:
        lock = _locks.setdefault(key, threading.Lock())
    # A cluster that cannot be reached does not block the others.
    with lock:
        if key not in _clients:
            _clients[key] = _connected(key, patience_s)
        return _clients[key]


def _connected(key: _Key, patience_s: float) -> Client:
    _, bootstrap, settings = key
    deadline_s = time.monotonic() + patience_s
    while True:
        try:
            return Client(bootstrap, settings)
        except ClientError as error:
            if not error.is_retriable or time.monotonic() > deadline_s:
                raise
        time.sleep(_AGAIN_S)
