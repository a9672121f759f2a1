"""docs/conformance.md: what passes where, made from the results of both servers; nothing in it changes without them."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.features import LEFT_OUT, WAITING
from conformance.results import ROOT, Results
from conformance.suites import PASSED, SKIPPED, Job, jobs_for, listed_tests

PAGES = {1: ROOT / "docs" / "conformance.md", 3: ROOT / "docs" / "conformance-cluster.md"}
SUITES = {
    "librdkafka": "librdkafka 2.15.1, its own tests in full mode, simulated network faults included",
    "kafka-python": "kafka-python 3.0.12, its integration tests",
}
NOT_RUN = "not run"

INTRODUCTIONS = {
    1: """\
# Conformance

Test suites that nobody here wrote, run against Apache Kafka 4.3.0 and against Ottla, one node each, with the same
settings. `make conformance` runs them and writes this page. A test that Apache Kafka passes and Ottla does not waits
for a feature that Ottla does not have yet, and the last column names it.

Both servers create topics by themselves, with four partitions, except for the tests whose scenario forbids it. Kafka
alone has an authorizer, for the tests of ACLs; Ottla refuses that setting until it has one. A test that fails is run a
second time on a fresh server, on both sides. A test that takes no time at all has left its parts out and counts as
skipped.

Consumer groups use the classic protocol. The same tests with the consumer protocol (KIP-848) are not run yet, because
Ottla does not have it.

[Conformance of a cluster](conformance-cluster.md) has the same suites on three brokers.
""",
    3: """\
# Conformance of a cluster

The suites of [Conformance](conformance.md), run against three brokers of Apache Kafka 4.3.0 and against three of Ottla,
with the same settings. Each broker is a controller as well. Every topic has three replicas unless a test asks for
fewer, and needs two of them in sync. `make conformance BROKERS=3` runs the suites and writes this page. What three
brokers of Apache Kafka pass, three of Ottla must pass; the last column names the feature that a test waits for.

No server has an authorizer here, and tests of ACLs and of share groups are left to the other page. So are two of
kafka-python that assume a single broker, test_alter_replica_log_dirs and test_delete_records. A test that fails is run
a second time on a fresh cluster, on both sides. A test that takes no time at all has left its parts out and counts as
skipped.
""",
}


@dataclass(frozen=True, slots=True)
class Row:
    suite: str
    test: str
    kafka: str
    ottla: str

    @property
    def note(self) -> str:
        if self.kafka == PASSED and self.ottla != PASSED:
            return WAITING[self.suite].get(self.test, "")
        if self.kafka == SKIPPED:
            return LEFT_OUT[self.suite].get(self.test, "")
        return ""

    @property
    def is_part(self) -> bool:
        """A part of a test that has a row of its own as well."""
        return self.suite == "librdkafka" and ":" in self.test

    @property
    def is_unexplained(self) -> bool:
        return self.kafka == PASSED and self.ottla != PASSED and not self.note

    @property
    def is_stale(self) -> bool:
        """Said to wait for a feature, though it passes."""
        return self.ottla == PASSED and self.test in WAITING[self.suite]


def rows(suite: str, brokers: int) -> list[Row]:
    kafka, ottla = (Results(kind, brokers).tests(suite) for kind in ("kafka", "ottla"))
    return [
        Row(suite, test, kafka.get(test, NOT_RUN), ottla.get(test, NOT_RUN))
        for test in sorted(kafka.keys() | ottla.keys() if brokers == 1 else kafka.keys() & ottla.keys())
    ]


def has_run(job: Job, brokers: int) -> bool:
    return all(Results(kind, brokers).has(job.suite, job.name) for kind in ("kafka", "ottla"))


def page(by_suite: dict[str, list[Row]], brokers: int) -> Iterator[str]:
    yield INTRODUCTIONS[brokers]
    yield "| suite | tests | Kafka passes | of these Ottla passes | wait for a feature |"
    yield "| --- | --- | --- | --- | --- |"
    whole = {suite: [row for row in found if not row.is_part] for suite, found in by_suite.items()}
    for suite, found in whole.items():
        passing = [row for row in found if row.kafka == PASSED]
        both = sum(row.ottla == PASSED for row in passing)
        waiting = sum(bool(row.note) for row in passing)
        yield f"| {suite} | {len(found)} | {len(passing)} | {both} | {waiting} |"
    yield ""
    waits = Counter(row.note for found in whole.values() for row in found if row.kafka == PASSED and row.note)
    if waits:
        yield "Waited for: " + "; ".join(f"{feature} ({count})" for feature, count in sorted(waits.items())) + "."
    for suite, found in by_suite.items():
        yield f"\n## {SUITES[suite]}\n"
        yield from table(found)
    yield from not_run(brokers)


def table(found: list[Row]) -> Iterator[str]:
    yield "| test | Kafka | Ottla | waiting for, or why skipped |"
    yield "| --- | --- | --- | --- |"
    for row in found:
        yield f"| {row.test} | {row.kafka} | {row.ottla} | {row.note} |"


def not_run(brokers: int) -> Iterator[str]:
    waiting = [job.name for job in jobs_for(brokers) if not has_run(job, brokers)]
    if brokers == 1 or waiting:
        yield "\n## Not run\n"
    if waiting:
        yield f"Not run against both servers yet: {', '.join(waiting)}."
    if brokers == 1:
        yield from never_run()


def never_run() -> Iterator[str]:
    local = ", ".join(test.name for test in listed_tests() if test.is_local)
    manual = ", ".join(test.name for test in listed_tests() if test.is_manual)
    yield f"These tests of librdkafka need no broker, or bring a simulated one: {local}.\n"
    yield f"These are for a person at the keyboard: {manual}.\n"
    yield "kafka-python's tests of TLS start a Kafka distribution themselves and cannot be pointed at another server."


def write(brokers: int) -> int:
    """Writes the page; 1 when it has something to explain."""
    target = PAGES[brokers]
    by_suite = {suite: rows(suite, brokers) for suite in SUITES}
    target.write_text("\n".join(page(by_suite, brokers)) + "\n")
    print(f"wrote {target.relative_to(ROOT)}")
    every = [row for found in by_suite.values() for row in found]
    for row in every:
        if row.is_unexplained:
            print(f"{row.suite} {row.test}: Kafka {row.kafka}, Ottla {row.ottla}", file=sys.stderr)
        if row.is_stale:
            print(f"{row.suite} {row.test} passes: take it out of features.py", file=sys.stderr)
    return 1 if any(row.is_unexplained or row.is_stale for row in every) else 0
