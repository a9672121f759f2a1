"""A disk of a few megabytes, in memory, for tests that fill it; mounting needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted file system with a file on it that takes space until it is removed."""

    def __init__(self, path: Path, ballast_bytes: int) -> None:
        self.path = path
        self._ballast = path / "ballast"
        self._ballast.write_bytes(bytes(ballast_bytes))

    def give_space(self) -> None:
        self._ballast.unlink()

    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.path)], check=True)


@contextmanager
def small_disk(path: Path, size_bytes: int, ballast_bytes: int = 0) -> Iterator[SmallDisk]:
    """Skips the test where mounting is not permitted."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(path)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"needs a disk of its own, and mount is not permitted: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path, ballast_bytes)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
