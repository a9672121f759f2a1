"""One client per cluster in each process of Spark: its workers are used again, and so are their connections.

A worker is forked from a daemon that never connects, so a client always belongs to the process that made it; the check
of the process id is for those who fork for themselves.
"""

import os
import threading

from ottla.client.sync import Client
from ottla.pipeline.cluster_options import ClusterOptions

_lock = threading.Lock()
_locks: dict[tuple[int, ClusterOptions], threading.Lock] = {}
_clients: dict[tuple[int, ClusterOptions], Client] = {}


def client_of(cluster: ClusterOptions) -> Client:
    """The client of this process for a cluster; it is closed when the process ends."""
    key = (os.getpid(), cluster)
    with _lock:
        lock = _locks.setdefault(key, threading.Lock())
    # A cluster that cannot be reached keeps nobody from the others.
    with lock:
        if key not in _clients:
            _clients[key] = Client(cluster.bootstrap, cluster.settings())
        return _clients[key]
