"""The command line: which rows, how many rounds; then the page."""

import sys
from importlib.metadata import version

from bench.page import DOCUMENTS
from bench.pipeline import page
from bench.pipeline.drivers import Drivers
from bench.pipeline.filled_topics import FilledTopics
from bench.pipeline.rows import Means, rows
from bench.results import DIRECTORY, Results, describe_machine
from bench.rounds import parsed, run_rows


def machine() -> dict[str, str]:
    versions = {name: version(name) for name in ("pyspark", "pyarrow", "confluent-kafka")}
    return {name: value for name, value in describe_machine().items() if name != "librdkafka"} | versions


def main() -> int:
    drivers = Drivers(DIRECTORY / "spark")
    found = rows(Means(drivers, FilledTopics()))
    options = parsed(found, "bench.pipeline", "Spark's Kafka connector and Ottla's side by side.")
    results = Results(DIRECTORY / ("pipeline-trial.json" if options.is_trial else "pipeline.json"))
    results.set_machine(machine())
    try:
        failed = run_rows(found, options, results, DIRECTORY / "pipeline-servers")
    finally:
        drivers.close()
    page.write(found, results, DIRECTORY / "trial" if options.is_trial else DOCUMENTS)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
