"""Disks that fail on demand: one of the two of a node, or all of one node of a cluster.

The faults are those of `disk_faults.c`, a library that the node's process loads before libc. It needs a C compiler and
no root; a test is skipped where there is none.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.servers import OttlaServer

FSYNC_FAILS, FSYNC_HANGS, READ_ONLY = "fsync-fails", "fsync-hangs", "read-only"
FULL, SLOW = "full", "slow"


def build_library(directory: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler for a disk that fails on demand")
    library = directory / "disk_faults.so"
    source = Path(__file__).with_name("disk_faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    return library


class FailingDisks:
    """Disks of processes that are started in `environment`."""

    def __init__(self, home: Path) -> None:
        self._control = home / "control"
        self._control.mkdir()
        self.environment = {"LD_PRELOAD": str(build_library(home)), "DISK_FAULTS_CONTROL": str(self._control)}

    @contextmanager
    def fault(self, name: str, below: Path) -> Iterator[None]:
        """What lies below this directory has the fault meanwhile."""
        written = self._control / f"{name}.new"
        written.write_text(f"{below}/")
        control = written.rename(self._control / name)
        try:
            yield
        finally:
            control.unlink()


class TwoDiskServer(OttlaServer):
    """Metadata and some partitions are on the sound disk, others on the one that fails."""

    def __init__(self, home: Path) -> None:
        self.sound = home / "sound"
        self.failing = home / "failing"
        self._control = home / "control"
        self._control.mkdir()
        self._library = build_library(home)
        overrides = {
            "log.dirs": f"{self.sound},{self.failing}",
            "metadata.log.dir": str(self.sound),
            "num.partitions": "1",
            "offsets.topic.num.partitions": "1",
        }
        super().__init__(home, overrides)

    def _command(self) -> list[str]:
        faults = [f"DISK_FAULTS_BELOW={self.failing}", f"DISK_FAULTS_CONTROL={self._control}"]
        return ["env", f"LD_PRELOAD={self._library}", *faults, *super()._command()]

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        """The disk has the fault meanwhile."""
        (self._control / name).touch()
        try:
            yield
        finally:
            (self._control / name).unlink()

    def is_on_failing_disk(self, topic: str) -> bool:
        return (self.failing / f"{topic}-0").exists()
