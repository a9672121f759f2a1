"""Rows measured in alternating rounds, as the command line chooses them."""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.generators import GeneratorFailed
from bench.results import Results
from bench.row import METRICS, Measured, Row
from bench.servers import KINDS, Beds, settle
from ottla.client import KafkaError

FAILURES = (GeneratorFailed, KafkaError, AssertionError, OSError, subprocess.SubprocessError)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    rounds: int
    # How the names of the chosen rows begin; all rows if there are none.
    row_prefixes: tuple[str, ...]
    servers: tuple[str, ...]
    scale: float
    is_fresh: bool

    @property
    def is_trial(self) -> bool:
        return self.scale != 1.0

    def chosen(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if not self.row_prefixes or row.name.startswith(self.row_prefixes)]


def parsed(rows: Sequence[Row], program: str, description: str) -> Options:
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each server in each row")
    parser.add_argument("--rows", default="", help=f"some of: {','.join(row.name for row in rows)}")
    parser.add_argument("--servers", default=",".join(KINDS), help="the floor serves the rows that produce, no others")
    parser.add_argument("--scale", type=float, default=1.0, help="below 1: less of everything, to try things out")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured of these rows before")
    given = parser.parse_args()
    prefixes = tuple(name for name in given.rows.split(",") if name)
    servers = tuple(given.servers.split(","))
    known = {row.name for row in rows}
    if unknown := [name for name in prefixes if not any(row.startswith(name) for row in known)]:
        parser.error(f"--rows {unknown[0]}: no row begins so")
    if unknown := [name for name in servers if name not in KINDS]:
        parser.error(f"--servers {unknown[0]}: expected some of {', '.join(KINDS)}")
    return Options(given.rounds, prefixes, servers, given.scale, given.fresh)


def shown(measured: Measured) -> str:
    return ", ".join(
        f"{METRICS[name].title} {value:,.6g} {METRICS[name].unit}" for name, value in measured.metrics.items()
    )


def run_row(row: Row, kinds: Sequence[str], results: Results, rounds: int, beds: Beds, scale: float) -> None:
    """Brings each kind to the wanted number of rounds, alternating between them."""
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


def run_rows(rows: Sequence[Row], options: Options, results: Results, home: Path) -> list[str]:
    """Measures the chosen rows, with servers whose files are in `home` meanwhile; the names of those that failed."""
    # What a run that was killed left behind.
    shutil.rmtree(home, ignore_errors=True)
    beds = Beds(home)
    failed = []
    try:
        for row in options.chosen(rows):
            if options.is_fresh:
                results.forget(row.name)
            try:
                run_row(row, row.kinds(options.servers), results, options.rounds, beds, options.scale)
            except FAILURES as failure:
                print(f"{row.name} failed: {failure}", file=sys.stderr, flush=True)
                failed.append(row.name)
    finally:
        beds.close()
        shutil.rmtree(home, ignore_errors=True)
    if failed:
        print(f"failed, and left out for now: {', '.join(failed)}", file=sys.stderr)
    return failed
