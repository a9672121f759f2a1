"""What ran so far: a JSON file for each kind and number of servers, written after each job.

So an interrupted run can go on.
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from conformance.features import WAITING
from conformance.suites import FAILED

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "build" / "conformance"


def unexpected_failures(server: str, suite: str, outcomes: Mapping[str, str]) -> list[str]:
    """What failed on a server that is not known to lack anything for it."""
    expected = WAITING[suite] if server == "ottla" else {}
    return [test for test, state in outcomes.items() if state == FAILED and test not in expected]


class Results:
    """Outcomes of one server, or of a cluster: suite, job, test, state."""

    def __init__(self, server: str, brokers: int = 1) -> None:
        self._server = server
        self._path = DIRECTORY / (f"{server}.json" if brokers == 1 else f"{server}-{brokers}.json")
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, dict[str, str]]] = {}
        if self._path.exists():
            self._jobs = json.loads(self._path.read_text())

    def has(self, suite: str, job: str) -> bool:
        return job in self._jobs.get(suite, {})

    def is_settled(self, suite: str, job: str) -> bool:
        """Whether a job has run, and nothing failed that is not known to wait for something."""
        ran = self._jobs.get(suite, {}).get(job)
        return ran is not None and not unexpected_failures(self._server, suite, ran)

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
