"""A Spark driver of one contender: jobs come in on stdin, answers go out on stdout, until stdin ends.

python -m bench.pipeline.driver CONTENDER DIRECTORY
"""

import os
import sys
from typing import TYPE_CHECKING

from bench.pipeline.contenders import CONTENDERS
from bench.pipeline.job import Done, read_job
from bench.pipeline.queries import Queries
from harness.downloads import downloaded
from ottla.pipeline import session
from ottla.pipeline.failures import find_reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"


def start(directory: str) -> "SparkSession":
    """With what `ottla.pipeline.session` sets, whoever the contender is."""
    return session(
        "bench",
        MASTER,
        {
            "spark.jars": ",".join(sorted(map(str, downloaded("spark-connector").glob("*.jar")))),
            "spark.driver.memory": "2g",
            "spark.local.dir": f"{directory}/scratch",
            "spark.sql.warehouse.dir": f"{directory}/warehouse",
        },
    )


def main() -> None:
    # Spark and whoever else prints writes where errors go.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = start(sys.argv[2])
    queries = Queries(spark, CONTENDERS[sys.argv[1]])
    for line in sys.stdin:
        try:
            done = queries.run(read_job(line))
        except Exception as error:  # noqa: BLE001 (whatever it is, who asked has to know)
            done = Done(error=f"{type(error).__name__}: {find_reason(error)}")
        answers.write(done.to_line())
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    main()
