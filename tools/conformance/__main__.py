"""The command line: which jobs, against which servers, and then the table."""

import argparse
import sys
from collections.abc import Sequence

from conformance import table
from conformance.results import Results
from conformance.suites import Job, jobs_for
from conformance.workers import run_jobs
from harness.servers import KINDS


def chosen(jobs: Sequence[Job], only: str) -> list[Job]:
    wanted = [part for part in only.split(",") if part]
    return [job for job in jobs if not wanted or any(part in (job.suite, job.name) for part in wanted)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance", description="Test suites of other projects, and their table.")
    parser.add_argument(
        "--servers", default="kafka,ottla", help="which to run, one after the other; empty: only the table"
    )
    parser.add_argument("--only", default="", help="suites or numbers of librdkafka's tests, separated by commas")
    parser.add_argument(
        "--missing", action="store_true", help="only what has no outcome yet, or failed without a known reason"
    )
    parser.add_argument("--brokers", type=int, default=1, choices=(1, 3), help="of each server; three replicate")
    parser.add_argument("--workers", type=int, default=2, help="tests at the same time, each with a server of its own")
    options = parser.parse_args()
    kinds = [kind for kind in options.servers.split(",") if kind]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"--servers {unknown[0]}: expected some of {', '.join(KINDS)}")
    jobs = chosen(jobs_for(options.brokers), options.only)
    if not jobs:
        parser.error(f"--only {options.only}: no such suite or test")
    for kind in kinds:
        results = Results(kind, options.brokers)
        left = [job for job in jobs if not (options.missing and results.is_settled(job.suite, job.name))]
        run_jobs(kind, options.brokers, left, results, options.workers)
    return table.write(options.brokers)


if __name__ == "__main__":
    sys.exit(main())
