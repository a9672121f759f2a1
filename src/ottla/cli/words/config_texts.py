"""Settings as they are written on command lines: one by one, or in a list with brackets around values with commas."""

import re
from collections.abc import Iterable

from ottla.cli.exits import CommandError, UsageError

# A comma that is not between brackets.
_SEPARATOR = re.compile(r",(?=[^\]]*(?:\[|$))")

_FORMAT_MESSAGE = (
    'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val" or  '
    '"key=[val1,val2]" to group values which contain commas.'
)


def parse_settings(option: str, given: Iterable[str]) -> dict[str, str]:
    """The settings of a repeatable option; a value may hold anything, `=` and commas too."""
    settings = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"{option} {text}: write KEY=VALUE, as in {option} retention.ms=86400000.")
        if name.strip() in settings:
            raise UsageError(f"{option} {text}: {name.strip()} is set twice.")
        settings[name.strip()] = value.strip()
    return settings


def parse_bracket_list(text: str) -> dict[str, str]:
    """The settings of `k1=v1,k2=[v1,v2],k3=v3`, as Apache's tools take them."""
    settings = {}
    for part in _SEPARATOR.split(text):
        name, separator, value = part.partition("=")
        if not separator:
            raise CommandError(_FORMAT_MESSAGE)
        settings[name.strip()] = value.strip().removeprefix("[").removesuffix("]").strip()
    return settings
