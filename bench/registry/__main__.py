"""The command line: which rows, how many rounds; then the page."""

import sys

from bench.page import DOCUMENTS
from bench.registry import page
from bench.registry.contenders import Contenders
from bench.registry.rows import rows
from bench.results import DIRECTORY, Results, describe_machine
from bench.rounds import parsed, run_rows


def machine() -> dict[str, str]:
    described = describe_machine()
    return {name: value for name, value in described.items() if name not in ("Kafka", "librdkafka")}


def main() -> int:
    contenders = Contenders(DIRECTORY / "registries")
    found = rows(contenders)
    options = parsed(found, "bench.registry", "Apicurio's registry and Ottla's side by side.")
    results = Results(DIRECTORY / ("registry-trial.json" if options.is_trial else "registry.json"))
    results.set_machine(machine())
    try:
        failed = run_rows(found, options, results, DIRECTORY / "registry-servers")
    finally:
        contenders.close()
    page.write(found, results, DIRECTORY / "trial" if options.is_trial else DOCUMENTS)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
