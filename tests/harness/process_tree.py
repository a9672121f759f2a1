"""Which processes a process has started, and those have started, as Linux tells it."""

import os
import signal
from collections import defaultdict
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """All that live now, parents before their children."""
    children: dict[int, list[int]] = defaultdict(list)
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and (parent := _parent(directory)) is not None:
            children[parent].append(int(directory.name))
    found = [pid]
    for one in found:
        found += children[one]
    return found[1:]


def command_line(pid: int) -> str:
    """Nothing of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def end(pid: int) -> bool:
    """kill -9; whether it was still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _parent(directory: Path) -> int | None:
    try:
        # The name of the program stands in parentheses, and may hold anything.
        fields = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1])
