"""The table of foreign test suites says of every gap what it waits for."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
ROW = re.compile(
    r"^\| (.+?) \| (passed|failed|skipped|not run) \| (passed|failed|skipped|not run) \| (.*?) ?\|$", re.MULTILINE
)


def test_every_test_that_only_kafka_passes_names_what_it_waits_for() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert rows
    assert [test for test, kafka, ottla, note in rows if kafka == "passed" and ottla != "passed" and not note] == []


def test_both_servers_ran_every_test() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [test for test, *outcomes, _ in rows if "not run" in outcomes] == []
