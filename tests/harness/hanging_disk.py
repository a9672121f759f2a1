"""A node of which one log directory lies on a disk that hangs on demand, a FUSE mount; mounting needs root."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.servers import OttlaServer
from harness.waiting import eventually
from ottla.coordinator.partitioning import partition_for

OFFSETS_PARTITIONS = 4
WRITES, EVERYTHING = "hang-writes", "hang-all"


class HangingDisk:
    """A mounted file system. While it hangs, only what lies below it may be looked at: the backing directory."""

    def __init__(self, home: Path) -> None:
        self.mount = home / "hanging"
        self.backing = home / "backing"
        self._control = home / "control"
        for directory in (self.mount, self.backing, self._control):
            directory.mkdir()

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Skips the test where that is not possible."""
        if not Path("/dev/fuse").exists():
            pytest.skip("needs /dev/fuse for a disk that hangs")
        program = str(Path(__file__).with_name("hanging_file_system.py"))
        command = [sys.executable, program, str(self.mount), str(self.backing), str(self._control)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            eventually(lambda: self.mount.is_mount() or process.poll() is not None)
            if process.poll() is not None:
                assert process.stderr is not None
                pytest.skip(f"a disk that hangs cannot be mounted: {process.stderr.read().strip()[-200:]}")
            yield
        finally:
            self.wake_up()
            if process.poll() is None:
                subprocess.run(["umount", "-l", str(self.mount)], check=True)
                process.wait(30)
            assert process.stderr is not None
            process.stderr.close()

    @contextmanager
    def hanging(self, what: str) -> Iterator[None]:
        (self._control / what).touch()
        try:
            yield
        finally:
            self.wake_up()

    def wake_up(self) -> None:
        for fault in self._control.iterdir():
            fault.unlink()


class HangingDiskServer(OttlaServer):
    """Metadata and some partitions are on the sound disk, others on the one that hangs."""

    def __init__(self, home: Path, disk: HangingDisk) -> None:
        self.sound = home / "sound"
        self.disk = disk
        overrides = {
            "log.dirs": f"{self.sound},{disk.mount}",
            "metadata.log.dir": str(self.sound),
            "num.partitions": "1",
            "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
            # What a commit waits for at most, 5 s without it.
            "offsets.commit.timeout.ms": "1000",
        }
        super().__init__(home, overrides)

    def is_on_hanging_disk(self, topic: str, partition: int = 0) -> bool:
        return (self.disk.backing / f"{topic}-{partition}").exists()

    def group_on(self, *, hanging: bool) -> str:
        """A group whose offsets are on one of the disks; the offsets topic must exist."""
        names = (f"group-{number}" for number in range(100))
        partitions = {name: partition_for(name, OFFSETS_PARTITIONS) for name in names}
        return next(n for n, p in partitions.items() if self.is_on_hanging_disk("__consumer_offsets", p) is hanging)
