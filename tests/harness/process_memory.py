"""What a process takes of the machine's memory, as Linux tells it."""

from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Now."""
    return _field(pid, "VmRSS")


def peak_resident_bytes(pid: int) -> int:
    """The most since the last `forget_peak`."""
    return _field(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _field(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"{name} is not in the status of process {pid}")
