"""Names on a command line: topics, groups and subjects, by name or by a pattern of the shell, and lists of known names.

The name of a topic has none of a pattern's characters, so the two cannot be confused. A pattern never matches an
internal topic: write its name to mean it.

The name of a group or of a registry's subject may have any character. So a word that is such a name means it, and only
another word with a pattern's characters means those that match it.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode, UsageError

if TYPE_CHECKING:
    from ottla.client.admin.topics import TopicListing


def is_pattern(text: str) -> bool:
    """Whether a word means everything that matches it."""
    return any(character in text for character in "*?[")


def select_topics(listed: "Iterable[TopicListing]", wanted: Sequence[str]) -> tuple[list[str], dict[str, CommandError]]:
    """Find the topics that are meant, in order and once each, and an error for each word that means none."""
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


def select_groups(listed: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], dict[str, CommandError]]:
    """Find the groups that are meant, in order and once each, and an error for each pattern that matches none.

    A name is taken as it is: only its coordinator knows whether there is such a group.
    """
    chosen: dict[str, None] = {}
    missing: dict[str, CommandError] = {}
    for word in wanted:
        if word in listed or not is_pattern(word):
            chosen[word] = None
            continue
        matching = [name for name in listed if fnmatchcase(name, word)]
        chosen.update(dict.fromkeys(matching))
        if not matching:
            missing[word] = CommandError("no group matches", ExitCode.NOT_FOUND, remedy="See: ottla groups list")
    return list(chosen), missing


def select_subjects(listed: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], dict[str, CommandError]]:
    """Find the subjects that are meant, in order and once each, and an error for each word that means none."""
    chosen: dict[str, None] = {}
    missing: dict[str, CommandError] = {}
    for word in wanted:
        matching = (
            [word] if word in listed else [name for name in listed if is_pattern(word) and fnmatchcase(name, word)]
        )
        chosen.update(dict.fromkeys(matching))
        if not matching:
            reason = "no subject matches" if is_pattern(word) else "there is no such subject"
            missing[word] = CommandError(reason, ExitCode.NOT_FOUND, remedy="See: ottla schemas list")
    return list(chosen), missing


def parse_name_list(option: str, text: str | None, names: Sequence[str]) -> list[str]:
    """Parse names with commas between them, in any case, out of those that exist; none if the option is absent."""
    if text is None:
        return []
    known = {name.casefold(): name for name in names}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.casefold() not in known:
            raise UsageError(f"{option} {text}: {word!r} is none of them.", f"Write {', '.join(names)}.")
    return [known[word.casefold()] for word in words]
