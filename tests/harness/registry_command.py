"""`ottla registry` as an operator runs it: a process of its own, from the line that says it serves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from harness.waiting import eventually

STOP_TIMEOUT_S = 60
_DEFAULTS = {
    "listeners": "http://127.0.0.1:0",
    "kafkastore.topic.replication.factor": "1",
    # Where many tests run at once, an instance may be slow and not dead.
    "kafkagroup.session.timeout.ms": "30000",
}


@dataclass(frozen=True)
class RunningRegistry:
    process: subprocess.Popen[str]
    # What it said on stdout, by the word before it; of several listeners, the URLs in their order.
    urls: list[str]
    announced: dict[str, str]
    log: Path

    @property
    def url(self) -> str:
        return self.urls[0]

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(STOP_TIMEOUT_S)


def registry_arguments(settings: Mapping[str, str]) -> list[str]:
    overrides = [part for name, value in settings.items() for part in ("--override", f"{name}={value}")]
    return [sys.executable, "-m", "ottla", "registry", *overrides]


@contextmanager
def running_registry(
    bootstrap: str, log: Path, settings: Mapping[str, str] | None = None, *arguments: str, has_defaults: bool = True
) -> Iterator[RunningRegistry]:
    """A registry on a free port, unless the settings or `has_defaults` say otherwise."""
    given = (_DEFAULTS if has_defaults else {}) | dict(settings or {})
    command = [*registry_arguments(given), "-b", bootstrap, *arguments]
    with log.open("a", encoding="utf-8") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield _announced(process, log)
    finally:
        process.kill()
        process.communicate()


def _announced(process: subprocess.Popen[str], log: Path) -> RunningRegistry:
    assert process.stdout is not None
    urls: list[str] = []
    announced: dict[str, str] = {}
    while not (line := process.stdout.readline()).startswith("Press Ctrl-C"):
        assert line, f"the registry ended: {log.read_text(encoding='utf-8')}"
        if line.startswith("  "):
            name, value = line.split(maxsplit=1)
            announced[name] = value.strip()
            if name == "registry":
                urls.append(value.strip())
    return RunningRegistry(process, urls, announced, log)


def until_someone_leads(client: httpx.Client, url: str) -> None:
    """Asks for a change that changes nothing until it is made."""

    def is_led() -> bool:
        answer = client.put(f"{url}/config", json={"compatibility": "BACKWARD"})
        assert answer.status_code == 200 or answer.json()["error_code"] in (50003, 50004), answer.text
        return answer.status_code == 200

    eventually(is_led)
