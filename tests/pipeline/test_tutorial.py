"""The tutorial and the example of `make run`, as a reader runs them: programs in files, commands in a shell."""

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

from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "first-pipeline.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")


@pytest.fixture
def shell(tmp_path: Path, start_server: Callable[..., Server]) -> Callable[[str], str]:
    """A shell in an empty directory, with `ottla` and `python3` as a reader has them; what a script prints."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("ottla", "-m ottla"), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (programs / name).chmod(0o755)
    bootstrap = start_server().bootstrap
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "OTTLA_BOOTSTRAP_SERVERS": bootstrap, "OTTLA_SPARK_MASTER": "local[2]"}

    def run(script: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        return done.stdout

    return run


def test_the_tutorial_does_what_it_shows(shell: Callable[[str], str], tmp_path: Path) -> None:
    printed, shown = "", 0
    for language, block in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        if language == "python" and (named := FILE.match(block)):
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
        elif language == "sh":
            printed = shell(block)
        elif language == "":
            assert printed == block
            shown += 1
    assert shown == 1


def test_the_example_writes_nothing_twice(
    spark: "SparkSession", start_server: Callable[..., Server], capfd: pytest.CaptureFixture[str]
) -> None:
    """In the session of the tests, which the example takes for its own."""
    example = runpy.run_path(str(ROOT / "examples" / "pipeline.py"))
    example["show"](start_server().bootstrap)
    printed, beside = capfd.readouterr()
    assert (printed.count("read 1000 new orders"), printed.count("read 0 new orders")) == (1, 1)
    [first, second] = re.findall(r"consumed  (\d+) orders", printed)
    assert first == second != "0"
    assert beside == ""
