"""What was measured so far, and where: one JSON file, written after each measurement, so that a run can go on."""

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from bench.row import Measured

ROOT = Path(__file__).resolve().parents[1]
DIRECTORY = ROOT / "build" / "bench"


class Results:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._data: dict[str, Any] = {"machine": {}, "rows": {}}
        if path.exists():
            self._data = json.loads(path.read_text())

    @property
    def machine(self) -> dict[str, str]:
        return dict(self._data["machine"])

    def set_machine(self, machine: dict[str, str]) -> None:
        self._data["machine"] = machine

    def measurements(self, row: str, kind: str) -> list[Measured]:
        kept = self._data["rows"].get(row, {}).get(kind, [])
        return [Measured(one["metrics"], one["buckets"]) for one in kept]

    def add(self, row: str, kind: str, measured: Measured) -> None:
        entry = {"metrics": measured.metrics, "buckets": measured.buckets}
        self._data["rows"].setdefault(row, {}).setdefault(kind, []).append(entry)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self._data, indent=1))
        unfinished.replace(self._path)

    def forget(self, row: str) -> None:
        self._data["rows"].pop(row, None)


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines()[0]


def describe_machine() -> dict[str, str]:
    cpu = next(x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "processor": f"{cpu.split(':')[1].strip()}, {os.cpu_count()} cores, shared by servers and load generators",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "file system": _file_system(),
        "Python": platform.python_version(),
        "Java": _first_line(["java", "-version"]),
        "Kafka": "4.3.0, the JVM options of its own start script (1 GiB heap, G1)",
        "librdkafka": "2.15.1 (rdkafka_performance)",
    }


def _file_system() -> str:
    said = subprocess.run(["df", "--output=fstype", str(ROOT)], capture_output=True, text=True, check=False).stdout
    return said.splitlines()[-1] if said else ""
