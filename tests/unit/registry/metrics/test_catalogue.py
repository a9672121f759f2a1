import re

from ottla.metrics.definition import Kind
from ottla.registry.metrics.catalogue import FAMILIES


def test_no_name_stands_for_two_things() -> None:
    names = [metric.name for metric in FAMILIES]
    assert sorted(names) == sorted(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z][a-z0-9_]*", name)] == []


def test_names_are_those_of_confluents_dashboards() -> None:
    names = {metric.name for metric in FAMILIES}
    assert {
        "kafka_schema_registry_registered_count",
        "kafka_schema_registry_schemas_created",
        "kafka_schema_registry_schemas_deleted",
        "kafka_schema_registry_jetty_metrics_connections_active",
        "kafka_schema_registry_jersey_metrics_request_rate",
        "kafka_schema_registry_jersey_metrics_request_latency_99",
        "kafka_schema_registry_jersey_metrics_compatibility_subjects_versions_verify_request_latency_99",
        "kafka_schema_registry_jersey_metrics_subjects_versions_deleteschemaversion_schema_request_rate",
    } <= names


def test_what_only_grows_is_a_counter() -> None:
    counters = {metric.name for metric in FAMILIES if metric.kind is Kind.COUNTER}
    assert {name for name in counters if not name.endswith(("_total", "_count"))} == set()
