"""Writes docs/reference/registry-settings.md from the declarations; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from ottla.config.definition import ConfigKey
from ottla.registry.configs import REFUSED, SECTIONS, SYNONYMS
from reference_page import write_or_check

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "registry-settings.md"

INTRODUCTION = """\
# Settings of a registry

`ottla registry FILE` reads a file in the format of Confluent's `schema-registry.properties`, by its names and with its
defaults; the meanings are in our own words. `--override NAME=VALUE` is stronger than the file. Without a file the
registry listens on 127.0.0.1:8081 alone, and calls itself so. [Run a registry](../how-to/run-a-registry.md) shows what
belongs together.

A wrong value stops the start, and says why. A name that does not exist is a warning, with the one that was probably
meant. What only Confluent's registry has a use for is accepted, and named once in the log.

`kafkastore.NAME`, where NAME is none of those below, is the setting NAME of the client that reaches the cluster:
`kafkastore.request.timeout.ms` is its [`request.timeout.ms`](client-settings.md).
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION.rstrip()
    for title, keys in SECTIONS.items():
        yield f"\n## {title}\n"
        if any(key.validator is not None or key.default is not None for key in keys):
            yield from _table(keys)
        else:
            yield "| name | meaning |"
            yield "| --- | --- |"
            yield from (f"| `{key.name}` | {key.documentation} |" for key in keys)
    yield "\n## Older names\n"
    yield "| name | today |"
    yield "| --- | --- |"
    yield from (f"| `{old}` | `{new}` |" for old, new in SYNONYMS.items())
    yield "\n## Refused\n"
    yield "A registry must not look safer than it is: these stop the start.\n"
    yield "| name | why |"
    yield "| --- | --- |"
    yield from (f"| `{name}` | {why} |" for name, why in REFUSED.items())


def _table(keys: tuple[ConfigKey, ...]) -> Iterator[str]:
    yield "| name | type | default | valid values | importance | meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key in keys:
        default = "unset" if key.default is None else f"`{key.default_text}`" if key.default_text else "empty"
        valid = "" if key.validator is None else str(key.validator)
        cells = (f"`{key.name}`", key.type.name.lower(), default, valid, key.importance.value, key.documentation)
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
