"""`python -m ottla.testing.sim`: many runs, two at a time, until some simulated hours are over.

    --hours 50          how much simulated time in all
    --world cluster     three nodes with replicated topics, and not one; harsh: with faults close together
    --seed 7 --log      one run again, with the log of the nodes and of the faults

Each run has a seed of its own; one that finds something prints it, and the command that repeats it. The first run, and
every hundredth after it, is run twice: the same seed must give the same trace.
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from ottla.testing.history import Anomaly, AnomalyKind
from ottla.testing.sim.cluster import ClusterOfThree, HarshCluster
from ottla.testing.sim.lone_node import LoneNode
from ottla.testing.sim.simulation import Report, Simulation, WorldFactory, simulate

WORLDS: dict[str, WorldFactory] = {"node": LoneNode, "cluster": ClusterOfThree, "harsh": HarshCluster}
RUN_S = 600.0
_REPEATED_ONE_IN = 100
_TOLD_EVERY_S = 60.0
# Most of what a run leaves behind goes without a collection: looking for the rest so rarely saves a sixth of its time.
_GC_THRESHOLDS = (50_000, 20, 50)


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    world: str
    seed: int
    duration_s: float
    is_repeated: bool


def run_job(job: Job) -> tuple[Report, float]:
    """A run, and the CPU seconds that it took."""
    logging.getLogger("ottla").setLevel(logging.CRITICAL)
    began_s = time.process_time()
    world = WORLDS[job.world]
    try:
        report = simulate(job.seed, job.duration_s, world)
    except Exception as error:
        # As text, with the seed: not every error can go from process to process.
        raise RuntimeError(f"seed {job.seed} of the world {job.world}: {traceback.format_exc()}") from error
    if job.is_repeated:
        again = simulate(job.seed, job.duration_s, world)
        if again.trace != report.trace:
            what = f"the same seed gave two traces: {report.trace} and {again.trace}"
            report.anomalies.append(Anomaly(AnomalyKind.NOT_REPEATABLE, what))
    return report, time.process_time() - began_s


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """As many as are asked for, or enough for the hours."""
    count = options.runs or max(1, round(options.hours * 3600 / options.run_seconds))
    for number in range(count):
        is_repeated = number % _REPEATED_ONE_IN == 0
        yield Job(options.world, options.seed + number, options.run_seconds, is_repeated)


def main(arguments: list[str] | None = None) -> int:
    """0 if no run found anything."""
    parser = argparse.ArgumentParser(prog="python -m ottla.testing.sim", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--hours", type=_positive, default=1.0, help="simulated hours in all (default: %(default)s)")
    parser.add_argument("--world", choices=WORLDS, default="node", help="one node or a cluster (default: %(default)s)")
    parser.add_argument("--run-seconds", type=_positive, default=RUN_S, help="simulated seconds of a run with faults")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: %(default)s)")
    parser.add_argument("--runs", type=_count, help="this many runs, whatever the hours")
    parser.add_argument("--processes", type=_count, default=2, help="runs at a time (default: %(default)s)")
    parser.add_argument("--log", action="store_true", help="one run, with its faults and what the node logs")
    options = parser.parse_args(arguments)
    if options.log:
        report = _run_logged(options.world, options.seed, options.run_seconds)
        print(report)
        return 1 if report.anomalies else 0
    return _run_all(options)


def _positive(text: str) -> float:
    if (number := float(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return number


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _run_logged(world: str, seed: int, duration_s: float) -> Report:
    """One run with its log, whose lines begin with the simulated second."""
    simulation = Simulation(seed, duration_s, WORLDS[world])

    def add_time(record: logging.LogRecord) -> bool:
        record.simulated_s = simulation.loop.world_s
        return True

    handler = logging.StreamHandler()
    handler.addFilter(add_time)
    handler.setFormatter(logging.Formatter("%(simulated_s)10.4f %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return simulation.run()


class _Summary:
    """What all runs together did."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.simulated_s = self.cpu_s = 0.0
        self.operations = self.failed = self.done = 0

    def add(self, report: Report, cpu_s: float) -> None:
        self.done += 1
        self.faults += report.faults
        self.simulated_s += report.simulated_s
        self.cpu_s += cpu_s
        self.operations += report.operation_count
        self.failed += bool(report.anomalies)

    def line(self) -> str:
        return f"{self.done} run{'' if self.done == 1 else 's'}, {self.simulated_s / 3600:.1f} simulated hours"

    def text(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.faults.most_common())
        cost = self.cpu_s / max(self.simulated_s / 3600, 1e-9)
        return (
            f"{self.line()}, {self.operations} operations, {self.faults.total()} faults ({kinds}); "
            f"{cost:.1f} CPU seconds an hour; {self.failed} found something"
        )


def _collect_rarely() -> None:
    """Each run ends with a collection; what was imported before the first one is not looked at again."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def _run_all(options: argparse.Namespace) -> int:
    summary = _Summary()
    told_s = time.monotonic()
    pool = ProcessPoolExecutor(options.processes, initializer=_collect_rarely)
    try:
        for report, cpu_s in pool.map(run_job, jobs(options)):
            summary.add(report, cpu_s)
            if report.anomalies:
                print(report)
                run = f"--world {options.world} --seed {report.seed} --run-seconds {options.run_seconds:g}"
                print(f"  again: {sys.executable} -m ottla.testing.sim --log {run}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{summary.line()}, {summary.failed} failed", end="", file=sys.stderr)
            elif time.monotonic() - told_s > _TOLD_EVERY_S:
                told_s = time.monotonic()
                print(f"{summary.line()}, {summary.failed} failed", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():
            worker.terminate()
        print("\nInterrupted; of what was asked for this is done:", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
        if sys.stderr.isatty():
            print(file=sys.stderr)
    print(summary.text())
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
