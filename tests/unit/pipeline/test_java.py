import os
from pathlib import Path

import pytest

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.java import major_version, require_java


def java(home: Path, script: str) -> dict[str, str]:
    """An environment whose java says something."""
    (home / "bin").mkdir()
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(home), "PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("something else", None),
    ],
)
def test_the_version_is_read_as_java_tells_it(said: str, version: int | None) -> None:
    assert major_version(said) == version


def test_a_java_that_is_new_enough_is_accepted(tmp_path: Path) -> None:
    require_java(java(tmp_path, """echo 'openjdk version "21.0.1"' >&2"""))


def test_a_java_that_is_too_old_is_named_with_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"needs Java 17 or newer, and .*/bin/java \(from JAVA_HOME\) is Java 11"):
        require_java(java(tmp_path, """echo 'openjdk version "11.0.2"' >&2"""))


def test_a_java_that_does_not_run_is_as_good_as_none(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"does not run.*brew install"):
        require_java(java(tmp_path, "exit 1"))


def test_without_java_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(
        PipelineError, match=r"JAVA_HOME is not set, and PATH has no java\. Install .*apt install openjdk"
    ):
        require_java({"PATH": str(tmp_path)})


def test_a_home_without_java_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"JAVA_HOME=.* has no bin/java"):
        require_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
