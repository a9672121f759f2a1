"""librdkafka's own tests, as built by tools/downloads.py, run one by one against a server."""

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.downloads import downloaded
from harness.java import class_path, java

# The suite counts a test whose parts were all left out as passed, after no time at all.
LEFT_OUT_S = 0.003


@dataclass(frozen=True, slots=True)
class Outcome:
    state: str
    seconds: float

    @property
    def passed(self) -> bool:
        return self.state == "PASSED" and self.seconds > LEFT_OUT_S


SCRIPTS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
}


def lay_out_scripts(home: Path) -> Path:
    """Some tests call scripts of Kafka's distribution, which the jars alone do not have."""
    commands = {name: f'{shlex.join(java(main))} "$@"' for name, main in SCRIPTS.items()}
    commands["kafka-run-class.sh"] = f'java -cp "$CLASSPATH:{class_path()}" "$@"'
    (home / "bin").mkdir(exist_ok=True)
    for name, command in commands.items():
        script = home / "bin" / name
        script.write_text(f"#!/bin/sh\nexec {command}\n")
        script.chmod(0o755)
    if not (home / "libs").exists():
        (home / "libs").symlink_to(downloaded("kafka"))
    return home


def suite() -> Path:
    """The directory of the tests, built."""
    return downloaded("librdkafka") / "librdkafka" / "tests"


def run_bounded(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], output: BinaryIO, timeout_s: float | None
) -> None:
    """Runs a command; ends it with everything that it started when it takes too long."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def run_number(
    number: str,
    bootstrap: str,
    home: Path,
    *options: str,
    scenario: str = "default",
    part: str = "",
    patience: float = 1.0,
    timeout_s: float | None = None,
) -> dict[str, Outcome]:
    """Runs what the suite has under one number, in full mode, without its mock brokers: test name to outcome.

    `part` chooses among the parts of a test by their names.

    Those that left themselves out are not in it, and none is when the suite ended before its report. What it said is in
    <number>.log. The suite has time limits of its own: `patience` multiplies them, `timeout_s` is for when it hangs.
    """
    tests = suite()
    settings = home / "test.conf"
    settings.write_text(f"bootstrap.servers={bootstrap}\ntest.topic.random=true\ntest.timeout.multiplier={patience}\n")
    report = home / f"{number}.json"
    report.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": f"{tests.parent / 'src'}:{tests.parent / 'src-cpp'}",
        "RDKAFKA_TEST_CONF": str(settings),
        "TEST_REPORT": str(report),
        "TEST_KAFKA_VERSION": "4.3.0",
        "TESTS": number,
        **({"SUBTESTS": part} if part else {}),
        "KAFKA_PATH": str(lay_out_scripts(home)),
        "BROKERS": bootstrap,
    }
    # The tests find their plug-in relative to where they run.
    command = [str(tests / "test-runner"), "-p1", "-L", "-s", scenario, *options]
    said = home / f"{number}.log"
    with said.open("wb") as output:
        run_bounded(command, tests, environment, output, timeout_s)
    if not report.exists():
        return {}
    results = json.loads(report.read_text())["tests"]
    return {
        name: Outcome(value["state"], float(value["duration"]))
        for name, value in results.items()
        if name[:4] == number and value["state"] != "SKIPPED"
    }


def check(name: str, bootstrap: str, home: Path, *, part: str = "") -> None:
    """One test must pass, and whatever else the suite has under its number; without simulated network faults."""
    outcomes = run_number(name[:4], bootstrap, home, "-E", part=part)
    said = "\n".join((home / f"{name[:4]}.log").read_text(errors="replace").splitlines()[-60:])
    assert name in outcomes, f"{name} did not run\n{said}"
    for ran, outcome in outcomes.items():
        assert outcome.passed, f"{ran}: {outcome.state} after {outcome.seconds:.3f} s\n{said}"
