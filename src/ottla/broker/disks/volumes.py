"""How much space there is on a volume, asked of disks that may never answer.

A hanging disk blocks the thread that asks it. So each directory is asked in a separate thread, at most one at a time,
and nobody waits for it longer than PATIENCE_S.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from ottla.broker.host import Host, VolumeSpace

PATIENCE_S: Final = 1.0


class Volumes:
    """Asks volumes for their space, and remembers which have not answered yet."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._asked: dict[Path, asyncio.Future[VolumeSpace | None]] = {}

    async def ask(self, path: Path) -> VolumeSpace | None:
        """The space on the volume; None if the disk fails or does not answer."""
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
