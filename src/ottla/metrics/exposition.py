"""Prometheus's text format, version 0.0.4.

Written here and not by prometheus-client: a node of 10,000 partitions has 110,000 series, for which that library takes
about fifteen times as long, in one piece, while clients wait. Its parser checks what is written here, in the tests.
"""

from collections.abc import Iterable, Iterator

from ottla.metrics.definition import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPED_IN_LABELS = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_ESCAPED_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


def label_text(**labels: object) -> str:
    """Labels as they follow a name; an empty text for none."""
    if not labels:
        return ""
    pairs = (f'{name}="{str(value).translate(_ESCAPED_IN_LABELS)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


class Exposition:
    """Collects samples in any order; the output groups them by family."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._lines: dict[str, list[str]] = {metric.name: [_head(metric)] for metric in families}

    def add(self, metric: Metric, value: float, labels: str = "") -> None:
        """A sample of a metric; `labels` as `label_text` makes them."""
        self.add_part(metric, "", value, labels)

    def add_part(self, metric: Metric, suffix: str, value: float, labels: str) -> None:
        """A sample of a histogram or summary: `_bucket`, `_sum`, `_count`."""
        # Infinities do not occur; what is not a number is not equal to itself.
        shown = value if value == value else "NaN"  # noqa: PLR0124
        self._lines[metric.name].append(f"{metric.name}{suffix}{labels} {shown}\n")

    def families(self) -> Iterator[bytes]:
        """The text of each family that has samples; each family is freed with its text, so that memory falls
        gradually."""
        for lines in self._lines.values():
            if len(lines) > 1:
                yield "".join(lines).encode()
            lines.clear()


def _head(metric: Metric) -> str:
    return f"# HELP {metric.name} {metric.text.translate(_ESCAPED_IN_HELP)}\n# TYPE {metric.name} {metric.kind}\n"
