"""Writes docs/reference/configuration.md from the definitions; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ottla.config.broker_configs import DYNAMIC_ONLY_BROKER_CONFIGS, SECTIONS
from ottla.config.client_metrics_configs import CLIENT_METRICS_CONFIGS
from ottla.config.definition import REQUIRED, ConfigKey
from ottla.config.group_configs import GROUP_CONFIGS, GROUP_SYNONYMS
from ottla.config.topic_configs import TOPIC_CONFIGS, TOPIC_SYNONYMS
from reference_page import write_or_check

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "configuration.md"

INTRODUCTION = """\
# Configuration

Names, types, defaults, units and bounds are those of Apache Kafka 4.3; the meanings are in our own words. Where a
setting is accepted and described but changes nothing yet, its text says so; a start with another value than its default
warns of it.

A node reads its settings from a file in Kafka's `server.properties` format, from `--override key=value`, or has the
single-node values when it starts without a file. An unknown name is a warning, a wrong value an error that says why.
While the node runs, settings change through AlterConfigs and IncrementalAlterConfigs (`kafka-configs`), for one broker
(`per-broker`), for one or for all (`cluster-wide`), or not at all (`read-only`).

What is in force comes from the first of: the topic's own config, the dynamic config of the broker, the dynamic default
of all brokers, the file, the default. Of one setting in several units the finest one given wins.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield INTRODUCTION
    yield "## Broker\n"
    for section in SECTIONS:
        title = (section.__doc__ or "").strip().splitlines()[0].rstrip(".")
        yield f"### {title}\n"
        yield from _table(section.KEYS, "update mode", lambda key: key.update_mode.value)
    yield "### Replication throttles, which can only be set dynamically\n"
    yield from _table(DYNAMIC_ONLY_BROKER_CONFIGS, "update mode", lambda key: key.update_mode.value)
    yield "## Topic\n"
    yield from _table(
        TOPIC_CONFIGS,
        "broker default",
        lambda key: " ".join(f"`{synonym.name}`" for synonym in TOPIC_SYNONYMS.get(key.name, ())),
    )
    yield "## Group\n"
    yield from _table(GROUP_CONFIGS, "broker default", lambda key: _code(GROUP_SYNONYMS.get(key.name, "")))
    yield "## Client metrics subscription\n"
    yield from _table(CLIENT_METRICS_CONFIGS, None, lambda _key: "")


def _table(keys: Iterable[ConfigKey], extra: str | None, of: Callable[[ConfigKey], str]) -> Iterator[str]:
    heads = ["name", "type", "default", "valid values", "importance", *([extra] if extra else []), "meaning"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for key in keys:
        if key.internal:
            continue
        valid = "" if key.validator is None else str(key.validator)
        cells = (
            _code(key.name),
            key.type.name.lower(),
            "required" if key.default is REQUIRED else _code(key.default_text),
            valid.replace("|", "\\|"),
            key.importance.value,
            *([of(key)] if extra else []),
            key.documentation,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _code(text: str | None) -> str:
    if text is None:
        return "unset"
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
