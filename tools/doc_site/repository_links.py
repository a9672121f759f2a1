"""Links that work on a forge and on the site alike.

The documents link to each other by their places in the repository, so that a forge shows them as they are. The site
holds the folder docs, and beside it what the documents link to from outside: Markdown as pages, other files as they
are. Here is where each file of the repository stands on the site, and what becomes of a link to it.
"""

import posixpath
import re
from collections.abc import Callable

DOCUMENTS = "docs/"
# Where the site keeps what the folder docs does not hold.
PAGES = "repository/"
FILES = "repository/files/"

# Code shows brackets too: a fenced block, or a span, is passed over.
_CODE_OR_LINK = re.compile(r"^```.*?^```$|``.*?``|`[^`\n]*`|\]\(([^)\s]+)\)", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"[a-z]+:|#|/")


def is_page(path: str) -> bool:
    return path.endswith(".md")


def place_of(path: str) -> str:
    """Where a file of the repository stands among the sources of the site."""
    if path.startswith(DOCUMENTS):
        return path.removeprefix(DOCUMENTS)
    return PAGES + path.lower() if is_page(path) else FILES + path


def linked_paths(text: str, path: str) -> list[str]:
    """The files of the repository that a document links to."""
    found: list[str] = []

    def note(target: str) -> str:
        found.append(_resolved(target, path))
        return target

    _map_targets(text, note)
    return found


def rewritten(text: str, path: str) -> str:
    """A document with its links as the site needs them."""
    here = posixpath.dirname(place_of(path))

    def rewrite(target: str) -> str:
        _, hash_sign, anchor = target.partition("#")
        place = place_of(_resolved(target, path))
        return posixpath.relpath(place, here or ".") + hash_sign + anchor

    return _map_targets(text, rewrite)


def _resolved(target: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))


def _map_targets(text: str, change: Callable[[str], str]) -> str:
    """The text with each target in the repository changed."""

    def replace(match: re.Match[str]) -> str:
        target = match[1]
        return match[0] if target is None or _ELSEWHERE.match(target) else f"]({change(target)})"

    return _CODE_OR_LINK.sub(replace, text)
