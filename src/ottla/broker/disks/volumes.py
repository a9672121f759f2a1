"""How much room there is on a volume, asked of disks that may never answer.

A hanging disk holds the thread that asks it. There is one thread for a directory at most, none of the node's own, and
nobody waits for it longer than a moment.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from ottla.broker.host import Host, VolumeSpace

PATIENCE_S: Final = 1.0


class Volumes:
    """Asks, and remembers whom it still waits for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._asked: dict[Path, asyncio.Future[VolumeSpace | None]] = {}

    async def ask(self, path: Path) -> VolumeSpace | None:
        """What the system says about the volume; None if the disk fails or does not answer."""
        asked = self._asked.get(path)
        if asked is None:
            asked = self._asked[path] = asyncio.get_running_loop().create_future()
            asked.add_done_callback(lambda _: self._asked.pop(path))
            self._host.start_thread(lambda: self._ask(path, asked), "volume")
        done, _ = await asyncio.wait((asked,), timeout=PATIENCE_S)
        return asked.result() if done else None

    def _ask(self, path: Path, asked: "asyncio.Future[VolumeSpace | None]") -> None:
        found = self._host.volume_space(path)
        with contextlib.suppress(RuntimeError):  # The loop may have been closed meanwhile.
            asked.get_loop().call_soon_threadsafe(asked.set_result, found)
