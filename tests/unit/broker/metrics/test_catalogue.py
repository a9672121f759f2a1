import re
import subprocess
import sys
from pathlib import Path

from ottla.broker.metrics.catalogue import SECTIONS
from ottla.broker.metrics.definition import Kind

ROOT = Path(__file__).parents[4]
METRICS = [metric for section in SECTIONS.values() for metric in section]


def test_the_reference_says_what_the_catalogue_says() -> None:
    command = [sys.executable, "tools/generate_metrics_reference.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_no_name_stands_for_two_things() -> None:
    names = [metric.name for metric in METRICS]
    assert sorted(names) == sorted(set(names))


def test_names_are_names_to_prometheus() -> None:
    assert [m.name for m in METRICS if not re.fullmatch(r"[a-z][a-z0-9_]*", m.name)] == []
    assert [m.name for m in METRICS if not all(re.fullmatch(r"[a-zA-Z_]+", label) for label in m.labels)] == []


def test_only_counters_end_as_counters_do() -> None:
    odd = [m.name for m in METRICS if m.name.endswith(("_total", "_count")) and m.kind is not Kind.COUNTER]
    # A gauge that the JMX exporter names so.
    assert odd == ["kafka_server_socket_server_metrics_connection_count"]


def test_the_how_to_asks_for_metrics_that_exist() -> None:
    text = (ROOT / "docs" / "how-to" / "watch-a-node.md").read_text(encoding="utf-8")
    asked = set(re.findall(r"\b(?:kafka|ottla)_[a-z_]+", text)) - {"kafka_exporter"}
    assert len(asked) >= 10
    assert asked <= {metric.name for metric in METRICS}
