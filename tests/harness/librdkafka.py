"""librdkafka's own tests, as built by tools/downloads.py, run one by one against a server."""

import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.downloads import downloaded
from harness.java import java
from harness.servers import Server

# The suite counts a test whose parts were all left out as passed, after no time at all.
LEFT_OUT_S = 0.003


@dataclass(frozen=True, slots=True)
class Outcome:
    state: str
    seconds: float
    output: str

    @property
    def passed(self) -> bool:
        return self.state == "PASSED" and self.seconds > LEFT_OUT_S


def lay_out_scripts(home: Path) -> Path:
    """Some tests call a script of Kafka's distribution, which the jars alone do not have."""
    script = home / "bin" / "kafka-topics.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.join(java("org.apache.kafka.tools.TopicCommand"))} "$@"\n')
    script.chmod(0o755)
    return home


def run_test(name: str, bootstrap: str, home: Path, *options: str, scenario: str = "default") -> Outcome:
    """Runs what the suite has under one number, in full mode, without its mock brokers and simulated network faults."""
    tests = downloaded("librdkafka") / "librdkafka" / "tests"
    settings = home / "test.conf"
    settings.write_text(f"bootstrap.servers={bootstrap}\ntest.topic.random=true\n")
    report = home / f"{name}.json"
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": f"{tests.parent / 'src'}:{tests.parent / 'src-cpp'}",
        "RDKAFKA_TEST_CONF": str(settings),
        "TEST_REPORT": str(report),
        "TEST_KAFKA_VERSION": "4.3.0",
        "TESTS": name,
        "KAFKA_PATH": str(lay_out_scripts(home)),
        "BROKERS": bootstrap,
    }
    # The suite has time limits of its own; the tests find their plug-in relative to where they run.
    done = subprocess.run(
        [str(tests / "test-runner"), "-p1", "-E", "-L", "-s", scenario, *options],
        cwd=tests,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if not report.exists():
        return Outcome(f"ended with {done.returncode}", 0.0, done.stdout)
    results = json.loads(report.read_text())["tests"]
    same_number = [value for key, value in results.items() if key[:4] == name[:4]]
    ran = [value for value in same_number if value["state"] != "SKIPPED"]
    failed = [value for value in ran if value["state"] != "PASSED"]
    state = "FAILED" if failed else "PASSED" if ran else "SKIPPED"
    return Outcome(state, sum(float(value["duration"]) for value in ran), done.stdout)


def check(name: str, server: Server, home: Path, *options: str, scenario: str = "default") -> None:
    outcome = run_test(name, server.bootstrap, home, *options, scenario=scenario)
    said = "\n".join(outcome.output.splitlines()[-60:])
    assert outcome.passed, f"{name}: {outcome.state} after {outcome.seconds:.3f} s\n{said}"
