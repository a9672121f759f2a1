"""The command line: which rows, how many rounds; then the page."""

import sys

from bench.cluster import faults, life, loads, many_partitions, page
from bench.cluster.row import ClusterRow
from bench.cluster.turns import Turns, parsed
from bench.page import DOCUMENTS
from bench.results import DIRECTORY, Results, describe_machine


def all_rows() -> list[ClusterRow]:
    """In the order of a turn."""
    return [*life.first_rows(), *loads.rows(), *life.later_rows(), *faults.rows(), *many_partitions.rows()]


def main() -> int:
    rows = all_rows()
    options = parsed(rows)
    chosen = [row for row in rows if row.name in options.rows]
    results = Results(DIRECTORY / ("cluster-trial.json" if options.is_trial else "cluster.json"))
    results.set_machine(describe_machine())
    if options.is_fresh:
        for row in chosen:
            results.forget(row.name)
    turns = Turns(options, results, DIRECTORY / "cluster-nodes")
    turns.run(chosen)
    page.write(rows, results, DIRECTORY / "trial" if options.is_trial else DOCUMENTS)
    if turns.failed:
        print(f"failed, and left out for now: {', '.join(turns.failed)}", file=sys.stderr)
    return 1 if turns.failed else 0


if __name__ == "__main__":
    sys.exit(main())
