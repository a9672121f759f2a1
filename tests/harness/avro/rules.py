"""Avro's own Java library as the judge of schemas and pairs of them."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from harness.downloads import downloaded
from harness.java import QUICK_START

SOURCE = Path(__file__).with_name("AvroRules.java")


class Question(TypedDict):
    reader: str
    writer: str
    references: Sequence[str]


def question(reader: str, writer: str, references: Sequence[str] = ()) -> Question:
    return {"reader": reader, "writer": writer, "references": list(references)}


def ask_java(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """One answer for each question, in one JVM."""
    command = ["java", *QUICK_START, "-cp", f"{downloaded('avro')}/*", str(SOURCE)]
    lines = "".join(f"{json.dumps(one)}\n" for one in questions)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]
