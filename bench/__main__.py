"""The command line: which rows, how many rounds; then the page."""

import sys

from bench import compaction, latency, life, page, stalls, throughput, transactions
from bench.results import DIRECTORY, Results, describe_machine
from bench.rounds import parsed, run_rows
from bench.row import Row


def all_rows() -> list[Row]:
    loads = [*throughput.rows(), *transactions.rows(), *latency.rows(), *life.rows()]
    return [*loads, *compaction.rows(), *stalls.rows()]


def main() -> int:
    rows = all_rows()
    options = parsed(rows, "bench", "Apache Kafka and Ottla side by side.")
    results = Results(DIRECTORY / ("trial.json" if options.is_trial else "results.json"))
    results.set_machine(describe_machine())
    failed = run_rows(rows, options, results, DIRECTORY / "servers")
    page.write(rows, results, DIRECTORY / "trial" if options.is_trial else page.DOCUMENTS)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
