"""What a server costs, as the kernel counts it: CPU time and memory of a process and its children."""

import os
from contextlib import suppress
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # Threads and children come and go.
        with suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, (task / "children").read_text().split())
    found = [pid]
    for child in children:
        with suppress(FileNotFoundError, ProcessLookupError):
            found += _family(child)
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time so far, of children that have ended as well."""
    ticks = 0
    for member in _family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_PER_S


def _status_megabytes(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"/proc/{pid}/status has no {field}")


def resident_megabytes(pid: int) -> float:
    return sum(_status_megabytes(member, "VmRSS") for member in _family(pid))


def peak_megabytes(pid: int) -> float:
    return sum(_status_megabytes(member, "VmHWM") for member in _family(pid))


def shared_megabytes(pid: int) -> float:
    """Resident memory, in which a page that several of them share counts once (PSS)."""
    kilobytes = 0
    for member in _family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
            kilobytes += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return kilobytes / 1024
