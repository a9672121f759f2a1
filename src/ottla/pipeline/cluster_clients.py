"""One client per cluster in each process of Spark: its workers are used again, and so are their connections.

A worker is forked from a daemon that never connects, so a client always belongs to the process that made it; the check
of the process id is for those who fork for themselves.
"""

import os
import threading
import time
from typing import Final

from ottla.client.errors import ClientError
from ottla.client.sync import Client
from ottla.pipeline.cluster_options import ClusterOptions

# Longer than a broker takes to start again, and not too long for whoever has mistyped an address.
PATIENCE_S: Final = 15.0
_AGAIN_S: Final = 0.2

_lock = threading.Lock()
_locks: dict[tuple[int, ClusterOptions], threading.Lock] = {}
_clients: dict[tuple[int, ClusterOptions], Client] = {}


def client_of(cluster: ClusterOptions, patience_s: float = PATIENCE_S) -> Client:
    """The client of this process for a cluster; it is closed when the process ends.

    A cluster that cannot be reached may only be starting again, and is tried until the patience is over.
    """
    key = (os.getpid(), cluster)
    with _lock:
        lock = _locks.setdefault(key, threading.Lock())
    # A cluster that cannot be reached keeps nobody from the others.
    with lock:
        if key not in _clients:
            _clients[key] = _connected(cluster, patience_s)
        return _clients[key]


def _connected(cluster: ClusterOptions, patience_s: float) -> Client:
    settings, deadline_s = cluster.settings(), time.monotonic() + patience_s
    while True:
        try:
            return Client(cluster.bootstrap, settings)
        except ClientError as error:
            if not error.is_retriable or time.monotonic() > deadline_s:
                raise
        time.sleep(_AGAIN_S)
