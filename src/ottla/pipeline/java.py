"""Checking the Java that Spark will start before Spark does: its own complaints are long and name no remedy."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ottla.pipeline.errors import PipelineError

# Spark 4 refuses older ones.
VERSION_MIN: Final = 17
_ANSWER_TIMEOUT_S: Final = 30

_INSTALL: Final = (
    f"Install Java {VERSION_MIN} or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless, or "
    "openjdk-21-jre-headless where there is no 17; Fedora: dnf install java-21-openjdk-headless; macOS: brew install "
    "openjdk@21), or set JAVA_HOME to the directory of an installed one."
)


def require_java(environment: Mapping[str, str] = os.environ) -> None:
    """Raise a PipelineError that says what is missing and how to get it, unless Spark will find a usable Java."""
    java, origin = _java_of(environment)
    if java is None:
        raise PipelineError(f"Spark needs Java, and there is none: {origin}. {_INSTALL}")
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=True, timeout=_ANSWER_TIMEOUT_S
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        # macOS has a `java` that only says that Java is not installed.
        raise PipelineError(f"Spark needs Java, and {java} ({origin}) does not run: {error}. {_INSTALL}") from None
    version = major_version(said)
    if version is not None and version < VERSION_MIN:
        raise PipelineError(
            f"Spark needs Java {VERSION_MIN} or newer, and {java} ({origin}) is Java {version}. {_INSTALL}"
        )


def _java_of(environment: Mapping[str, str]) -> tuple[str | None, str]:
    """Find the program that Spark's scripts will run, and where it comes from; or None, and why."""
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        return (str(java), "from JAVA_HOME") if java.exists() else (None, f"JAVA_HOME={home} has no bin/java")
    found = shutil.which("java", path=environment.get("PATH"))
    return found, "from PATH" if found else "JAVA_HOME is not set, and PATH has no java"


def major_version(said: str) -> int | None:
    """Parse the output of `java -version`; None if the version is unclear, and Spark may try."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if match is None:
        return None
    # Java 8 called itself 1.8.
    return int(match[2]) if match[1] == "1" and match[2] else int(match[1])
