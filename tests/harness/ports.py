"""Ports for test servers, each given to one process at a time.

They come from below 32768: above it the kernel hands ports to clients' sockets, and a server that restarts could find
its own port taken. A file lock per port, held until the process ends, keeps two test runs on one machine apart.
"""

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import TextIO

_held: dict[int, TextIO] = {}


def free_port() -> int:
    low, high = (int(part) for part in os.environ.get("OTTLA_TEST_PORTS", "21400-21899").split("-"))
    locks = Path(tempfile.gettempdir()) / f"ottla-test-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    for port in range(low, high + 1):
        if port not in _held and _claim(port, locks):
            return port
    raise RuntimeError(f"no free port in {low}-{high}: set OTTLA_TEST_PORTS=LOW-HIGH")


def _claim(port: int, locks: Path) -> bool:
    lock = (locks / str(port)).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            # As servers do: a port in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    _held[port] = lock
    return True
