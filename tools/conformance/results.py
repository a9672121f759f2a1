"""What ran so far: one JSON file per server, written after each job, so that an interrupted run can go on."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "build" / "conformance"


class Results:
    """Outcomes of one server: suite, job, test, state."""

    def __init__(self, server: str) -> None:
        self._path = DIRECTORY / f"{server}.json"
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, dict[str, str]]] = {}
        if self._path.exists():
            self._jobs = json.loads(self._path.read_text())

    def has(self, suite: str, job: str) -> bool:
        return job in self._jobs.get(suite, {})

    def add(self, suite: str, job: str, outcomes: Mapping[str, str]) -> None:
        with self._lock:
            self._jobs.setdefault(suite, {})[job] = dict(outcomes)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(self._jobs, indent=1, sort_keys=True))
            unfinished.replace(self._path)

    def tests(self, suite: str) -> dict[str, str]:
        jobs = self._jobs.get(suite, {})
        return {test: state for job in sorted(jobs) for test, state in jobs[job].items()}
