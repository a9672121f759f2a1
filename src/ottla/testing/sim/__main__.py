"""`python -m ottla.testing.sim`: many runs, one after the other, until some simulated hours are over.

    --hours 50          how much simulated time in all
    --seed 7 --runs 1   one run again, with the log of the node (--log)

Each run has a seed of its own; one that finds something prints it, and the command that repeats it. Runs share the
processors. One in a hundred is run twice: the same seed must give the same trace.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from ottla.testing.sim.simulation import Report, simulate

RUN_S = 600.0
_REPEATED_ONE_IN = 100


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    seed: int
    duration_s: float


def run_job(job: Job) -> tuple[Report, float]:
    """A run, and the CPU seconds that it took."""
    logging.getLogger("ottla").setLevel(logging.CRITICAL)
    began_s = time.process_time()
    report = simulate(job.seed, job.duration_s)
    if job.seed % _REPEATED_ONE_IN == 0:
        again = simulate(job.seed, job.duration_s)
        if again.trace != report.trace:
            report.anomalies.append(f"the same seed gave two traces: {report.trace} and {again.trace}")
    return report, time.process_time() - began_s


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """As many as are asked for, or enough for the hours."""
    count = options.runs or max(1, round(options.hours * 3600 / options.run_seconds))
    for number in range(count):
        yield Job(options.seed + number, options.run_seconds)


def main(arguments: list[str] | None = None) -> int:
    """0 if no run found anything."""
    parser = argparse.ArgumentParser(prog="python -m ottla.testing.sim", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--hours", type=float, default=1.0, help="simulated hours in all (default: %(default)s)")
    parser.add_argument("--run-seconds", type=float, default=RUN_S, help="simulated seconds of a run with faults")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: %(default)s)")
    parser.add_argument("--runs", type=int, help="this many runs, whatever the hours")
    parser.add_argument("--processes", type=int, default=2, help="runs at a time (default: %(default)s)")
    parser.add_argument("--log", action="store_true", help="one run, with what the node logs")
    options = parser.parse_args(arguments)
    if options.log:
        logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
        report = simulate(options.seed, options.run_seconds)
        print(report)
        return 1 if report.anomalies else 0
    return _run_all(options)


def _run_all(options: argparse.Namespace) -> int:
    faults: Counter[str] = Counter()
    simulated_s = cpu_s = 0.0
    operations = failed = done = 0
    # Each run ends with a collection; what was imported before the first one is not looked at again.
    with ProcessPoolExecutor(options.processes, initializer=gc.freeze) as pool:
        for report, took_s in pool.map(run_job, jobs(options)):
            done += 1
            faults += report.faults
            simulated_s += report.simulated_s
            cpu_s += took_s
            operations += report.operation_count
            if report.anomalies:
                failed += 1
                print(report)
                print(
                    f"  again: python -m ottla.testing.sim --log --seed {report.seed} "
                    f"--run-seconds {options.run_seconds:g}",
                    flush=True,
                )
            if sys.stderr.isatty():
                print(f"\r{done} runs, {simulated_s / 3600:.1f} h, {failed} failed", end="", file=sys.stderr)
    hours = simulated_s / 3600
    print(
        f"{done} runs, {hours:.1f} simulated hours, {operations} operations, {faults.total()} faults "
        f"({', '.join(f'{count} {kind}' for kind, count in faults.most_common())}); "
        f"{cpu_s / hours:.1f} CPU seconds an hour; {failed} runs found something"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
