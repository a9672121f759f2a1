"""What the documentation shows of Spark is run, page after page on the node that `make run` has shown.

The pages share the session of the tests. The tutorial alone starts its own, as its reader does: programs in files,
commands in a shell.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.documents import BLOCK, ROOT, run_document
from harness.registries import RegistryProcess
from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

# In the order of docs/index.md.
PRINTED = {
    "docs/how-to/change-from-format-kafka.md": (
        "100 records with kafka\n20 more with ottla\n3 more with kafka\n128 pulses\n"
    ),
    "docs/how-to/save-a-topic-as-parquet.md": (
        "100 records, 3 partitions\n100 saved\n107 saved\n107 are back, the same: True\n"
    ),
    "docs/how-to/type-a-topic-in-spark.md": (
        "struct<id:bigint,customer:string,price:double,placed:timestamp,note:string>\n"
        "100 orders of 5 customers\n"
        "2 bad records: the first byte is 110 and not 0: the record was not written with a schema of a registry\n"
        "20 dear orders\n"
        "101 orders, 1 of them with a country\n"
    ),
    "docs/reference/pipeline-python.md": "9 counts of 30 visits\n",
    "docs/reference/pipeline-sinks.md": "200 sales\n100 copied\n100 copied once\n",
    "docs/reference/pipeline-source.md": "second\n3 records\n{'sensor-values': 0}\n",
}
SHOWN_REGISTRY = "http://127.0.0.1:8081"
FILE = re.compile(r"# (\w+\.py)\n")


@pytest.fixture(scope="module")
def bootstrap(start_servers: Callable[..., Server]) -> str:
    """A node as a reader has it: one partition for topics that appear by themselves."""
    return start_servers({"num.partitions": "1"}).bootstrap


@pytest.fixture
def shell(tmp_path: Path, bootstrap: str) -> Callable[[str], str]:
    """A shell in an empty directory, with `ottla` and `python3` as a reader has them; what a script prints."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("ottla", "-m ottla"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "OTTLA_BOOTSTRAP_SERVERS": bootstrap, "OTTLA_SPARK_MASTER": "local[2]"}

    def run(script: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        return done.stdout

    return run


def test_the_example_writes_nothing_twice(
    spark: "SparkSession", bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """In the session of the tests, which the example takes for its own."""
    example = runpy.run_path(str(ROOT / "examples" / "pipeline.py"))
    example["show"](bootstrap)
    printed, beside = capfd.readouterr()
    assert (printed.count("read 1000 new orders"), printed.count("read 0 new orders")) == (1, 1)
    [first, second] = re.findall(r"consumed  (\d+) orders", printed)
    assert first == second != "0"
    # Other tests of this process may have left a librdkafka producer behind, which goes on looking for its broker.
    assert [line for line in beside.splitlines() if "|rdkafka#" not in line] == []


def test_the_tutorial_does_what_it_shows(shell: Callable[[str], str], tmp_path: Path) -> None:
    tutorial = ROOT / "docs" / "tutorial" / "first-pipeline.md"
    printed, shown = "", 0
    for language, block in BLOCK.findall(tutorial.read_text(encoding="utf-8")):
        if language == "python" and (named := FILE.match(block)):
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
        elif language == "sh":
            printed = shell(block)
        elif language == "":
            assert printed == block
            shown += 1
    assert shown == 1


@pytest.mark.parametrize("name", PRINTED)
def test_the_document_does_what_it_shows(
    name: str,
    spark: "SparkSession",
    bootstrap: str,
    registry: RegistryProcess,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / name).read_text(encoding="utf-8").replace(SHOWN_REGISTRY, registry.url)
    run_document(text, bootstrap, {"spark": spark})
    assert capsys.readouterr().out == PRINTED[name]
