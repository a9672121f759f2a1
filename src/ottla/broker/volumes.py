"""How much room there is on a volume, asked of disks that may never answer.

A hanging disk holds the thread that asks it. There is one thread for a directory at most, none of the node's own, and
nobody waits for it longer than a moment.
"""

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import Final

PATIENCE_S: Final = 1.0


class Volumes:
    """Asks, and remembers whom it still waits for."""

    def __init__(self) -> None:
        self._asked: dict[Path, asyncio.Future[os.statvfs_result | None]] = {}

    async def ask(self, path: Path) -> os.statvfs_result | None:
        """What the system says about the volume; None if the disk fails or does not answer."""
        asked = self._asked.get(path)
        if asked is None:
            asked = self._asked[path] = asyncio.get_running_loop().create_future()
            asked.add_done_callback(lambda _: self._asked.pop(path))
            threading.Thread(target=_ask, args=(path, asked), name="volume", daemon=True).start()
        done, _ = await asyncio.wait((asked,), timeout=PATIENCE_S)
        return asked.result() if done else None


def _ask(path: Path, asked: "asyncio.Future[os.statvfs_result | None]") -> None:
    try:
        found = os.statvfs(path)
    except OSError:
        found = None
    with contextlib.suppress(RuntimeError):  # The loop may have been closed meanwhile.
        asked.get_loop().call_soon_threadsafe(asked.set_result, found)
