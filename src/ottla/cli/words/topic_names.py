"""Topics as they are named on a command line: by name, or by a pattern of the shell for all that match it.

The name of a topic has none of a pattern's characters, so the two cannot be confused. A pattern never means an internal
topic: who wants one writes its name.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from ottla.client.admin.topics import TopicListing


def is_pattern(text: str) -> bool:
    """Whether a word means all topics that match it."""
    return any(character in text for character in "*?[")


def select(listed: "Iterable[TopicListing]", wanted: Sequence[str]) -> tuple[list[str], dict[str, CommandError]]:
    """The names of the topics that are meant, in order and once each, and an error for each word that means none."""
    known = {topic.name: topic for topic in listed}
    chosen: dict[str, None] = {}
    missing: dict[str, CommandError] = {}
    for word in wanted:
        if is_pattern(word):
            matching = [name for name, topic in known.items() if not topic.is_internal and fnmatchcase(name, word)]
        else:
            matching = [word] if word in known else []
        chosen.update(dict.fromkeys(matching))
        if not matching:
            reason = "no topic matches" if is_pattern(word) else "there is no such topic"
            missing[word] = CommandError(reason, ExitCode.NOT_FOUND)
    return list(chosen), missing
