"""The suites as jobs: a job is what can be run on its own, and yields the outcome of one or more tests."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.features import WAITING
from harness import kafka_python, librdkafka

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
STATES = {"PASSED": PASSED, "SKIPPED": SKIPPED}

# The longest takes eight minutes on a quiet machine, which is more than the suite's own limits allow.
LIBRDKAFKA_TIMEOUT_S = 1500
PATIENCE = 3.0
KAFKA_PYTHON_TIMEOUT_S = 1500

# What both servers get beside the settings of all tests: Kafka's own delay before a group's first rebalance, on
# which some tests count, and short times for share groups.
LIBRDKAFKA_SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000",
    "group.share.heartbeat.interval.ms": "1000",
}
SCENARIOS = {
    "default": LIBRDKAFKA_SETTINGS,
    "noautocreate": LIBRDKAFKA_SETTINGS | {"auto.create.topics.enable": "false"},
}


class Job(ABC):
    """Something to run against a server with certain settings."""

    suite: str
    name: str
    tests: tuple[str, ...]
    settings: Mapping[str, str]

    @abstractmethod
    def run(self, bootstrap: str, home: Path) -> dict[str, str]:
        """The outcome of each test."""


class LibrdkafkaJob(Job):
    suite = "librdkafka"

    def __init__(self, name: str, scenario: str, tests: tuple[str, ...]) -> None:
        self.name = name
        self.tests = tests
        self.settings = SCENARIOS[scenario]
        self._scenario = scenario

    def run(self, bootstrap: str, home: Path) -> dict[str, str]:
        number = self.name[:4]
        ran = librdkafka.run_number(
            number, bootstrap, home, scenario=self._scenario, patience=PATIENCE, timeout_s=LIBRDKAFKA_TIMEOUT_S
        )
        if not ran and not (home / f"{number}.json").exists():
            return dict.fromkeys(self.tests, FAILED)
        return {test: _state(ran.get(test)) for test in self.tests}


def _state(outcome: librdkafka.Outcome | None) -> str:
    if outcome is None:
        return SKIPPED
    if outcome.passed:
        return PASSED
    return SKIPPED if outcome.state == "PASSED" else FAILED


class LibrdkafkaPartsJob(Job):
    """The parts of a test one by one, so that one which waits for something does not hide those after it."""

    suite = "librdkafka"
    settings = LIBRDKAFKA_SETTINGS

    def __init__(self, test: str, source: str) -> None:
        self._test = test
        self.name = f"{test[:4]} parts"
        code = (librdkafka.suite() / source).read_text()
        called = re.findall(r"\b(do_test_\w+)\(", code[code.index("static void do_test_apis") :])
        self._parts = [part for part in dict.fromkeys(called) if part != "do_test_apis"]
        self.tests = tuple(f"{test}: {part.removeprefix('do_test_')}" for part in self._parts)

    def run(self, bootstrap: str, home: Path) -> dict[str, str]:
        outcomes = {}
        for part, test in zip(self._parts, self.tests, strict=True):
            ran = librdkafka.run_number(
                self._test[:4], bootstrap, home, part=part, patience=PATIENCE, timeout_s=LIBRDKAFKA_TIMEOUT_S
            )
            outcomes[test] = _state(ran.get(self._test)) if ran else FAILED
        return outcomes


class KafkaPythonJob(Job):
    suite = "kafka-python"
    settings = kafka_python.SETTINGS

    def __init__(self, name: str) -> None:
        self.name = name
        self.tests = ()

    def run(self, bootstrap: str, home: Path) -> dict[str, str]:
        ran = kafka_python.run_file(self.name, bootstrap, home, KAFKA_PYTHON_TIMEOUT_S)
        if "," in bootstrap:
            ran = {test: state for test, state in ran.items() if test not in kafka_python.ASSUME_ONE_BROKER}
        area = self.name.removeprefix("test_").removesuffix("_integration.py")
        return {f"{area}: {test}": state for test, state in ran.items()} or {f"{area}: all": FAILED}


@dataclass(frozen=True, slots=True)
class ListedTest:
    """A test as librdkafka's own list has it."""

    name: str
    flags: str
    scenario: str

    @property
    def is_local(self) -> bool:
        return "TEST_F_LOCAL" in self.flags

    @property
    def is_manual(self) -> bool:
        return "TEST_F_MANUAL" in self.flags


def listed_tests() -> list[ListedTest]:
    source = (librdkafka.suite() / "test.c").read_text()
    table = source[source.index("struct test tests[]") :]
    entries = table[: table.index("{NULL}")].split("_TEST(")[1:]
    return list(map(_listed, entries))


def _listed(entry: str) -> ListedTest:
    name, flags = re.match(r"\s*(\w+),\s*([\w |]+)", entry).groups()  # type: ignore[union-attr]
    scenario = re.search(r'\.scenario\s*=\s*"([a-z]+)', entry)
    return ListedTest(name, flags, scenario.group(1) if scenario else "default")


def librdkafka_jobs() -> Iterator[LibrdkafkaJob]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for test in listed_tests():
        if not test.is_local and not test.is_manual:
            grouped.setdefault((test.name[:4], test.scenario), []).append(test.name)
    for (number, scenario), tests in grouped.items():
        name = number if scenario == "default" else f"{number} {scenario}"
        yield LibrdkafkaJob(name, scenario, tuple(tests))


def all_jobs() -> list[Job]:
    parts = LibrdkafkaPartsJob("0081_admin", "0081-admin.c")
    return [*map(KafkaPythonJob, kafka_python.files()), *librdkafka_jobs(), parts]


def jobs_for(brokers: int) -> list[Job]:
    """What is run against so many brokers; several get nothing that waits for ACLs or share groups, as one shows."""
    if brokers == 1:
        return all_jobs()
    waiting = WAITING["librdkafka"].keys()
    return [job for job in all_jobs() if not job.tests or set(job.tests) - waiting]
