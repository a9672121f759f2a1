import json
import re
import subprocess
import sys
from pathlib import Path

from ottla.broker.metrics.catalogue import SECTIONS
from ottla.metrics.definition import Kind
from ottla.registry.metrics.catalogue import FAMILIES as REGISTRY_METRICS

ROOT = Path(__file__).parents[4]
METRICS = [metric for section in SECTIONS.values() for metric in section]


def test_the_reference_says_what_the_catalogue_says() -> None:
    command = [sys.executable, "tools/generate_metrics_reference.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_what_the_reference_calls_missing_is_not_there() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    (missing,) = re.findall(r"^- Not there, (.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    called_missing = re.split(r",\s+(?:and )?", missing)
    assert len(called_missing) > 2
    assert [title for title in SECTIONS if title.lower() in called_missing] == []


def test_metrics_that_the_documents_name_exist() -> None:
    known = {metric.name for metric in (*METRICS, *REGISTRY_METRICS)}
    named: set[str] = set()
    for page in (ROOT / "docs").rglob("*.md"):
        named |= set(re.findall(r"\b(?:kafka|ottla)_\w+[a-z](?![\w.])", page.read_text(encoding="utf-8")))
    # Fixtures for test suites, another project, and a file.
    others = ("ottla_cluster", "ottla_topic", "kafka_exporter", "kafka_cleanshutdown")
    assert {name for name in named - known if not name.startswith(others)} == set()


def test_no_name_stands_for_two_things() -> None:
    names = [metric.name for metric in METRICS]
    assert sorted(names) == sorted(set(names))


def test_names_are_names_to_prometheus() -> None:
    assert [m.name for m in METRICS if not re.fullmatch(r"[a-z][a-z0-9_]*", m.name)] == []
    assert [m.name for m in METRICS if not all(re.fullmatch(r"[a-zA-Z_]+", label) for label in m.labels)] == []


def test_names_of_the_jmx_exporter_are_what_apache_kafka_has() -> None:
    """The file has what the exporter's rules make of the MBeans of Apache Kafka 4.3.0, as JmxTool lists them."""
    recorded = Path(__file__).parent / "kafka_4_3_metric_names.json"
    kafka = set(json.loads(recorded.read_text(encoding="utf-8")))
    exporter = {metric.name for metric in SECTIONS["As kafka_exporter names them"]}
    ours = {metric.name for metric in METRICS if metric.name.startswith("kafka_")} - exporter
    # The state is a text in Kafka, for which the rules have a form of their own. The list is of a broker that is alone,
    # and follows nobody.
    alone = {"kafka_server_fetcherlagmetrics_consumerlag"}
    assert ours - kafka == {"kafka_server_raft_metrics_current_state_info"} | alone


def test_only_counters_end_as_counters_do() -> None:
    odd = [m.name for m in METRICS if m.name.endswith(("_total", "_count")) and m.kind is not Kind.COUNTER]
    # Gauges that the JMX exporter names so.
    assert odd == [
        "kafka_server_socket_server_metrics_connection_count",
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
    ]


def test_the_how_to_asks_for_metrics_that_exist() -> None:
    text = (ROOT / "docs" / "how-to" / "watch-a-node.md").read_text(encoding="utf-8")
    asked = set(re.findall(r"\b(?:kafka|ottla)_[a-z_]+", text)) - {"kafka_exporter"}
    assert len(asked) >= 10
    assert asked <= {metric.name for metric in METRICS}
