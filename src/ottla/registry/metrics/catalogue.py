"""Every metric of a registry, by what it is about; docs/reference/metrics.md is made from this.

`kafka_schema_registry_...` is what Prometheus's JMX exporter makes of the metrics of Confluent's registry with the
rules that Confluent publishes for its dashboards. What it does not have is called `ottla_registry_...`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.metrics.definition import Metric, counter, gauge, histogram
from ottla.metrics.process_samples import PROCESS

_JMX: Final = "kafka_schema_registry"
REGISTERED: Final = gauge(f"{_JMX}_registered_count", "Versions of all subjects, softly deleted ones included.")
DELETED: Final = gauge(f"{_JMX}_deleted_count", "Those of them that are softly deleted.")
REGISTERED_OF_TYPE: Final = gauge(f"{_JMX}_schemas_created", "Versions of a format, as above.", "schema_type")
DELETED_OF_TYPE: Final = gauge(f"{_JMX}_schemas_deleted", "Those of them that are softly deleted.", "schema_type")
IS_LEADING: Final = gauge(f"{_JMX}_master_slave_role", "1 if this instance leads, 0 if it forwards changes.")
API_SUCCESS: Final = counter(f"{_JMX}_api_success_count", "Requests with an answer below 400.")
API_FAILURE: Final = counter(f"{_JMX}_api_failure_count", "Requests with an answer of 400 or above.")
CONNECTIONS: Final = gauge(f"{_JMX}_jetty_metrics_connections_active", "Connections that are open.")

SUBJECTS: Final = gauge("ottla_registry_subjects", "Subjects, those of softly deleted versions alone included.")
SKIPPED: Final = counter(
    "ottla_registry_skipped_records_total", "Damaged or foreign records of the topic; the log names the first ones."
)
REQUESTS: Final = counter(
    "ottla_registry_requests_total", "Requests, with the status of the answer.", "endpoint", "status"
)
REQUEST_DURATION: Final = histogram(
    "ottla_registry_request_duration_seconds", "Time from a request to the end of its answer.", "endpoint"
)


@dataclass(frozen=True, slots=True)
class TimeMetrics:
    """What Confluent's registry tells of an endpoint, or of all together."""

    rate: Metric
    error_rate: Metric
    average_ms: Metric
    maximum_ms: Metric
    p95_ms: Metric
    p99_ms: Metric

    @property
    def all(self) -> tuple[Metric, ...]:
        return self.rate, self.error_rate, self.average_ms, self.maximum_ms, self.p95_ms, self.p99_ms


def _times(endpoint: str | None) -> TimeMetrics:
    """The exporter writes names in small letters, and an underscore for what is no letter."""
    part = "" if endpoint is None else endpoint.lower().replace(".", "_").replace("-", "_") + "_"
    of = "all requests" if endpoint is None else f"`{endpoint}`"

    def named(what: str, text: str) -> Metric:
        return gauge(f"{_JMX}_jersey_metrics_{part}request_{what}", text)

    return TimeMetrics(
        named("rate", f"Requests per second, of {of}, in the last minute or two."),
        named("error_rate", "Those with an answer of 400 or above."),
        named("latency_avg", "Their milliseconds on average."),
        named("latency_max", "Their milliseconds at most."),
        named("latency_95", "The milliseconds that 95 % of them stay within."),
        named("latency_99", "The milliseconds that 99 % of them stay within."),
    )


# The handlers that Confluent's registry measures, by its names for them.
ENDPOINTS: Final[Mapping[str, str]] = {
    "list_subjects": "subjects.list",
    "look_up": "subjects.get-schema",
    "delete_subject": "subjects.delete-subject",
    "list_versions": "subjects.versions.list",
    "get_version": "subjects.versions.get-schema",
    "get_version_text": "subjects.versions.get-schema.only",
    "register": "subjects.versions.register",
    "delete_version": "subjects.versions.deleteSchemaVersion-schema",
    "search": "schemas.get-schemas",
    "get_id": "schemas.ids.get-schema",
    "get_id_text": "schemas.ids.get-schema.only",
    "check_version": "compatibility.subjects.versions.verify",
    "check_subject": "compatibility.subjects.versions.verify",
    "list_contexts": "contexts.list",
}
ALL_TIMES: Final = _times(None)
ENDPOINT_TIMES: Final = {endpoint: _times(endpoint) for endpoint in sorted(set(ENDPOINTS.values()))}

SECTIONS: Final[Mapping[str, tuple[Metric, ...]]] = {
    "The registry": (
        REGISTERED,
        DELETED,
        REGISTERED_OF_TYPE,
        DELETED_OF_TYPE,
        SUBJECTS,
        SKIPPED,
        IS_LEADING,
        API_SUCCESS,
        API_FAILURE,
        CONNECTIONS,
    ),
    "Its requests": (REQUESTS, REQUEST_DURATION, *ALL_TIMES.all),
    "Its endpoints": tuple(metric for times in ENDPOINT_TIMES.values() for metric in times.all),
    "Its process": PROCESS,
}
FAMILIES: Final = tuple(metric for section in SECTIONS.values() for metric in section)
