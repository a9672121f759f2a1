"""Ports for test servers, each given to one process at a time.

They come from below 32768: above it the kernel hands ports to clients' sockets, and a server that restarts could find
its own port taken. A file lock per port, held until the process ends, keeps two test runs on one machine apart.
"""

import fcntl
import os
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

_held: dict[int, TextIO] = {}


def free_port() -> int:
    return free_ports_in_a_row(1)[0]


def free_ports_in_a_row(count: int, *, also_at: int = 0) -> range:
    """Ports that follow each other; with `also_at`, the same number so much higher are free, too."""
    low, high = (int(part) for part in os.environ.get("OTTLA_TEST_PORTS", "21400-21899").split("-"))
    for first in range(low, high + 2 - count - also_at):
        row = range(first, first + count)
        if _claim_all((*row, *range(first + also_at, first + also_at + count)) if also_at else row):
            return row
    raise RuntimeError(f"no {count} free ports in {low}-{high}: set OTTLA_TEST_PORTS=LOW-HIGH")


def _claim_all(ports: Sequence[int]) -> bool:
    locks = Path(tempfile.gettempdir()) / f"ottla-test-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    claimed: list[int] = []
    for port in ports:
        if port in _held or not _claim(port, locks):
            for taken in claimed:
                _held.pop(taken).close()
            return False
        claimed.append(port)
    return True


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
