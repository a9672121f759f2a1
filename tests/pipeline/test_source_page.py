"""The page about the source has every option, with the default that it has, and what it shows is run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from ottla.pipeline.source.options import OPTION_NAMES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "pipeline-source.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page() -> None:
    cells = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    told = {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    columns = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"}
    assert told - columns == set(OPTION_NAMES)


def test_what_the_page_shows_works(
    spark: "SparkSession",
    server: Server,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"first"), Record(b"second"), Record(b"third")])
    variables: dict[str, object] = {"spark": spark, "checkpoint": str(tmp_path)}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        code = block.replace("127.0.0.1:9092", server.bootstrap).replace('"orders"', f'"{topic}"')
        exec(compile(code, "documentation", "exec"), variables)
    assert capsys.readouterr().out == f"second\n3 records\n{{{topic!r}: 0}}\n"
