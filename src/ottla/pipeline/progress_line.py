"""What Spark reports about a batch of a query, as a line that a person can follow."""

import json
from collections.abc import Mapping
from typing import Any, Final

_UNKNOWN: Final = "-"


def progress_line(progress: Mapping[str, Any]) -> str:
    """Make a line from the JSON of a query's progress.

    `read` counts the rows of the batch; `in` is how fast they arrived, `done` how fast they were processed while it
    ran: the query keeps up as long as `done` is larger.
    """
    parts = [
        f"batch {progress['batchId']:,}",
        f"read {progress.get('numInputRows', 0):,}",
        f"in {_rate(progress.get('inputRowsPerSecond'))}",
        f"done {_rate(progress.get('processedRowsPerSecond'))}",
        f"lag {_count(lag(progress))}",
        f"took {_duration(progress.get('durationMs', {}).get('triggerExecution'))}",
    ]
    written = progress.get("sink", {}).get("numOutputRows", -1)
    if written >= 0:
        parts.insert(2, f"wrote {written:,}")
    operators = progress.get("stateOperators", ())
    if operators:
        parts.append(f"state {sum(operator['numRowsTotal'] for operator in operators):,} rows")
    parts += [f"{name} {_value(value)}" for name, value in observed(progress).items()]
    return "  ".join([name_of(progress), *parts])


def name_of(progress: Mapping[str, Any]) -> str:
    """The name that was given to the query, or the beginning of its id."""
    return str(progress.get("name") or progress["id"][:8])


def observed(progress: Mapping[str, Any]) -> dict[str, object]:
    """What the query counts for itself (`DataFrame.observe`)."""
    return {name: value for metrics in progress.get("observedMetrics", {}).values() for name, value in metrics.items()}


def lag(progress: Mapping[str, Any]) -> int | None:
    """How many offsets the topics are ahead of the batch, over all sources that report it; None if none does."""
    lags = [_lag_of(source) for source in progress.get("sources", ())]
    known = [found for found in lags if found is not None]
    return sum(known) if known else None


def _lag_of(source: Mapping[str, Any]) -> int | None:
    latest, end = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
    if latest is None or end is None:
        return None
    # A partition that the batch did not know is new, and will be read from its start.
    return sum(max(0, offset - end.get(partition, 0)) for partition, offset in latest.items())


def _offsets(given: object) -> dict[tuple[str, str], int] | None:
    """Offsets by topic and partition, if that is what a source's offset is made of."""
    found = _parsed(given)
    if not isinstance(found, dict) or not all(isinstance(partitions, dict) for partitions in found.values()):
        return None
    offsets = {
        (topic, partition): offset for topic, partitions in found.items() for partition, offset in partitions.items()
    }
    return offsets if all(isinstance(offset, int) for offset in offsets.values()) else None


def _parsed(given: object) -> object:
    if not isinstance(given, str):
        return given
    try:
        parsed: object = json.loads(given)
    except ValueError:
        return None
    return parsed


def _rate(rate: object) -> str:
    """Rows a second; the first batch has none yet."""
    return f"{rate:,.0f}/s" if isinstance(rate, int | float) and rate >= 0 else _UNKNOWN


def _count(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count:,}"


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _duration(duration_ms: object) -> str:
    if not isinstance(duration_ms, int):
        return _UNKNOWN
    return f"{duration_ms} ms" if duration_ms < 10_000 else f"{duration_ms / 1000:,.0f} s"
