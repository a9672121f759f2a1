"""Groups as they are named on a command line: by name, or by a pattern of the shell for all that match it.

The name of a group may have any character. So a word that is the name of a group means that group, and only another
one with a pattern's characters means those that match it.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.words.topic_names import is_pattern


def select(listed: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], dict[str, CommandError]]:
    """The groups that are meant, in order and once each, and an error for each pattern that matches none.

    A name is taken as it is: whether there is such a group is for its coordinator to say.
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
