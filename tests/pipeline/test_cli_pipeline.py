"""`ottla pipeline` as a user runs it: processes with a Spark of their own, as few as can be, on a running server."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from harness.waiting import eventually
from ottla.cli.exits import CommandError
from ottla.cli.pipeline.command import add_arguments
from ottla.cli.pipeline.copies import look_for_start, start_copy
from ottla.cli.pipeline.jobs import run_script
from ottla.pipeline.job import Script, wait_for_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

JOB = """
import os, sys
from pyspark.sql import functions as F
from ottla.pipeline import session, write_topic

origin, target, name, checkpoint = sys.argv[1:]

@F.udf("string")
def shout(text):
    if text == "boom":
        raise ValueError("nobody may say boom")
    return text.upper()

cluster = {"kafka.bootstrap.servers": os.environ["OTTLA_BOOTSTRAP_SERVERS"]}
rows = session().readStream.format("ottla").options(**cluster, subscribe=origin, startingOffsets="earliest").load()
shouted = rows.select(shout(F.col("value").cast("string")).alias("value"))
write_topic(shouted, name=name, topic=target, checkpoint=checkpoint, options=cluster)
print("started", name)
"""


Ottla = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ottla(server: Server) -> Ottla:
    """Runs a command for the server to its end."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ottla", "-b", server.bootstrap, *words]
        environment = {**os.environ, **environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    return run


def committed(ottla: Ottla, topic: str) -> list[str]:
    return sorted(ottla("consume", topic, "-e", "--read-committed").stdout.splitlines())


@contextmanager
def running(server: Server, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that works until it is told to end."""
    command = [sys.executable, "-m", "ottla", "-b", server.bootstrap, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_job_is_watched_until_a_query_dies(
    ottla: Ottla,
    server: Server,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    origin, target, name = new_topic(2), new_topic(2), fresh_name()
    job = tmp_path / "job.py"
    job.write_text(JOB)
    words = ["pipeline", "run", "--master", "local[2]", str(job), origin, target, name, str(tmp_path / "checkpoint")]
    reference.produce(origin, [Record(b"one"), Record(b"two")])

    with running(server, *words) as process:
        eventually(lambda: committed(ottla, target), ["ONE", "TWO"].__eq__, timeout_s=240)
        reference.produce(origin, [Record(b"three"), Record(b"boom")])
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, f"started {name}\n")
    lines = err.splitlines()
    assert lines[0] == "starting Spark, which takes some seconds ..."
    assert lines[-1] == f"ottla pipeline: query {name} failed: ValueError: nobody may say boom"
    # One line is Spark's.
    others = [line for line in lines[1:-1] if not line.startswith(f"{name}  batch ")]
    assert [line.partition(" ")[2].partition(":")[0] for line in others] == ["spark ERROR MicroBatchExecution"]
    assert committed(ottla, target) == ["ONE", "TWO"]


def test_a_job_ends_with_the_code_of_its_program(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import sys\nsys.exit(int(sys.argv[1]))")
    run_script(Script(job), ["0"])
    with pytest.raises(CommandError, match="ended with: 42") as caught:
        run_script(Script(job), ["42"])
    assert caught.value.code == 42


def test_a_copy_runs_until_it_is_stopped_and_goes_on_where_it_ended(
    ottla: Ottla,
    server: Server,
    spark: "SparkSession",
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    origin, target = new_topic(2), fresh_name()
    name = f"{origin}-to-{target}"
    reference.produce(origin, [Record(b'{"item": "tea", "price": %d}' % price) for price in range(20)], partition=1)
    reference.produce(origin, [Record(b"no JSON")])
    words = ["pipeline", "copy", "--from", origin, "--to", target, "--master", "local[2]"]
    words += ["--schema", "item string, price int", "--where", "value.price >= 17"]
    words += ["--select", "value.item, value.price * 2 as double"]
    expected = [f'{{"item":"tea","double":{price}}}' for price in (34, 36, 38)]

    with running(server, *words) as process:
        assert process.stdout is not None and process.stderr is not None
        # The line of progress comes after the commit: who stops it before that never sees it.
        lines = [*takewhile(lambda line: "not JSON 1" not in line, process.stderr)]
        assert committed(ottla, target) == expected
        process.send_signal(signal.SIGINT)
        lines += process.stderr.readlines()
        assert (process.wait(60), process.stdout.read()) == (0, "")
    said = [line.rstrip("\n") for line in lines if not line.startswith(f"{name}  ")]
    assert said == [
        "starting Spark, which takes some seconds ...",
        f"created topic {target} with 2 partitions, as {origin} has.",
        f"copy {name} begins at earliest, until Ctrl-C.",
        "stopping ...",
    ]

    # Another one, in the session of the tests, goes on from the cluster's memory alone; a record is gone meanwhile.
    reference.produce(origin, [Record(b'{"item": "tea", "price": 49}'), Record(b'{"item": "tea", "price": 50}')])
    assert ottla("records", "delete", f"{origin}:0", "--before", "2", "--execute").returncode == 0
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(
        [*words[1:], "--once", "--allow-data-loss"], argparse.Namespace(bootstrap_server=server.bootstrap)
    )
    # Queries of other tests have died in this session.
    spark.streams.resetTerminated()
    start_copy(spark, options, look_for_start(options), str(tmp_path))
    wait_for_queries(spark)
    assert f"copy {name} goes on where it ended, until it has copied what is there." in capsys.readouterr().err
    assert committed(ottla, target) == sorted([*expected, '{"item":"tea","double":100}'])


def test_what_is_wrong_is_told_before_spark_is_started(
    ottla: Ottla, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic()
    unknown = ottla("pipeline", "copy", "--from", f"{topic}x", "--to", "elsewhere")
    assert (unknown.returncode, unknown.stderr.splitlines()[-1]) == (3, f"  Did you mean {topic}?")
    assert ottla("pipeline", "copy", "--from", topic, "--to", topic).returncode == 2
    assert ottla("pipeline", "copy", "--from", topic, "--to", "x", "--offsets", "middle").returncode == 2
    assert ottla("pipeline", "copy", "--from", topic, "--to", "x", "--conf", "spark").returncode == 2
    without = ottla("pipeline", "copy", "--from", topic, "--to", "x", JAVA_HOME=str(tmp_path))
    assert (without.returncode, "apt install openjdk" in without.stderr) == (1, True)
    missing = ottla("pipeline", "run", str(tmp_path / "job.py"))
    assert (missing.returncode, "cannot be read: No such file" in missing.stderr) == (1, True)
    (tmp_path / "job.py").write_text("def")
    assert "is not a Python program: invalid syntax" in ottla("pipeline", "run", str(tmp_path / "job.py")).stderr
