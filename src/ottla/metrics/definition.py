"""What a metric is: its name, its kind, what it says."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A type, as Prometheus names it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of series."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()


def counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, Kind.COUNTER, text, labels)


def gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, Kind.GAUGE, text, labels)


def histogram(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, Kind.HISTOGRAM, text, labels)


def summary(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, Kind.SUMMARY, text, labels)
