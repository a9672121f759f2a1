"""What the documentation shows of Spark is run, in the session of the tests."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from harness.documents import ROOT, run_document
from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

PRINTED = {
    "docs/reference/pipeline-python.md": "9 counts of 30 visits\n",
    "docs/reference/pipeline-sinks.md": "200 orders\n100 copied\n100 copied once\n",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_document_does_what_it_shows(
    name: str, spark: "SparkSession", start_server: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_server({"num.partitions": "1"})
    run_document((ROOT / name).read_text(encoding="utf-8"), server.bootstrap, {"spark": spark})
    assert capsys.readouterr().out == PRINTED[name]
