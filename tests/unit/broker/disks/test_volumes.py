import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ottla.broker.disks import volumes
from ottla.broker.disks.volumes import Volumes
from ottla.broker.host import Machine


def test_a_volume_tells_its_room(tmp_path: Path) -> None:
    found = asyncio.run(Volumes(Machine()).ask(tmp_path))
    assert found is not None
    assert found.total_bytes == shutil.disk_usage(tmp_path).total


def test_a_directory_that_is_gone_has_no_room_to_tell(tmp_path: Path) -> None:
    assert asyncio.run(Volumes(Machine()).ask(tmp_path / "gone")) is None


def test_a_disk_that_hangs_is_asked_once_and_waited_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "hangs"
    os.mkfifo(fifo)
    asked = 0

    def hangs(path: Path) -> os.statvfs_result:
        nonlocal asked
        asked += 1
        fifo.read_bytes()  # Returns when the test writes to it.
        return os.statvfs_result(range(10))

    async def scenario() -> None:
        rooms = Volumes(Machine())
        with monkeypatch.context() as patched:
            patched.setattr(os, "statvfs", hangs)
            patched.setattr(volumes, "PATIENCE_S", 0.01)
            assert await rooms.ask(tmp_path) is None
            assert await rooms.ask(tmp_path) is None
            assert asked == 1
            patched.setattr(volumes, "PATIENCE_S", 30.0)
            waiting = asyncio.create_task(rooms.ask(tmp_path))
            await asyncio.to_thread(fifo.write_bytes, b"")
            found = await waiting
        assert found is not None
        assert found == (1 * 2, 1 * 4)

    asyncio.run(scenario())
