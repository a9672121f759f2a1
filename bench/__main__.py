"""The command line: which rows, how many rounds; then the page."""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from bench import compaction, latency, life, page, stalls, throughput, transactions
from bench.generators import GeneratorFailed
from bench.results import DIRECTORY, Results, describe_machine
from bench.row import METRICS, Measured, Row
from bench.servers import KINDS, Beds, settle
from ottla.client import KafkaError

FAILURES = (GeneratorFailed, KafkaError, AssertionError, OSError, subprocess.SubprocessError)


def all_rows() -> list[Row]:
    loads = [*throughput.rows(), *transactions.rows(), *latency.rows(), *life.rows()]
    return [*loads, *compaction.rows(), *stalls.rows()]


def shown(measured: Measured) -> str:
    return ", ".join(
        f"{METRICS[name].title} {value:,.6g} {METRICS[name].unit}" for name, value in measured.metrics.items()
    )


def run_row(row: Row, kinds: Sequence[str], results: Results, rounds: int, beds: Beds, scale: float) -> None:
    """Brings each server to the wanted number of rounds, alternating between them."""
    missing = {kind: rounds - len(results.measurements(row.name, kind)) for kind in kinds}
    if all(count <= 0 for count in missing.values()):
        return
    print(f"== {row.name}: {row.title} ==", flush=True)
    if row.is_alone:
        beds.close()
    with ExitStack() as opened:
        measures = {kind: opened.enter_context(row.open(beds, kind, scale)) for kind in kinds}
        for _ in range(row.warm_ups):
            for measure in measures.values():
                measure()
        for number in range(max(missing.values())):
            for kind in kinds if number % 2 == 0 else reversed(kinds):
                if number < missing[kind]:
                    settle()
                    started = time.monotonic()
                    measured = measures[kind]()
                    results.add(row.name, kind, measured)
                    took = time.monotonic() - started
                    print(f"{kind} {number + 1}/{missing[kind]} ({took:.0f} s): {shown(measured)}", flush=True)


def parsed(rows: Sequence[Row]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Apache Kafka and Ottla side by side.")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each server in each row")
    parser.add_argument("--rows", default="", help=f"some of: {','.join(row.name for row in rows)}")
    parser.add_argument("--servers", default="kafka,ottla")
    parser.add_argument("--scale", type=float, default=1.0, help="below 1: less of everything, to try things out")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured of these rows before")
    options = parser.parse_args()
    options.rows = [name for name in options.rows.split(",") if name]
    options.servers = options.servers.split(",")
    known = {row.name for row in rows}
    if unknown := [name for name in options.rows if not any(row.startswith(name) for row in known)]:
        parser.error(f"--rows {unknown[0]}: no row begins so")
    if unknown := [name for name in options.servers if name not in KINDS]:
        parser.error(f"--servers {unknown[0]}: expected some of {', '.join(KINDS)}")
    return options


def main() -> int:
    rows = all_rows()
    options = parsed(rows)
    is_trial = options.scale != 1.0
    results = Results(DIRECTORY / ("trial.json" if is_trial else "results.json"))
    results.set_machine(describe_machine())
    home = DIRECTORY / "servers"
    # What a run that was killed left behind.
    shutil.rmtree(home, ignore_errors=True)
    beds = Beds(home)
    failed = []
    try:
        for row in rows:
            if options.rows and not any(row.name.startswith(name) for name in options.rows):
                continue
            if options.fresh:
                results.forget(row.name)
            try:
                run_row(row, options.servers, results, options.rounds, beds, options.scale)
            except FAILURES as failure:
                print(f"{row.name} failed: {failure}", file=sys.stderr, flush=True)
                failed.append(row.name)
    finally:
        beds.close()
        shutil.rmtree(home, ignore_errors=True)
    page.write(rows, results, DIRECTORY / "trial" if is_trial else page.DOCUMENTS)
    if failed:
        print(f"failed, and left out for now: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
