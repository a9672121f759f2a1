"""The navigation of the site, from the page that lists the documents for readers of the repository.

A heading of docs/index.md that lists documents is a section, and each link in its list an entry, under the title that
the page itself has. An entry that is itself an index brings the pages of its folder, in the order of its links.
"""

import posixpath
import re
from collections.abc import Callable
from typing import Any

# As mkdocs has it: a page, or a title with what is below it.
Entry = str | dict[str, Any]

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)")


def sections(index: str, read: Callable[[str], str]) -> list[Entry]:
    """Sections with their entries; `read` gives the text of a page by its path."""
    parts = _HEADING.split(index)
    found: list[Entry] = []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        listed = "\n".join(line for line in text.splitlines() if line.startswith(("- ", "  ")))
        entries = [_entry(label, path, read) for label, path in _LINK.findall(listed)]
        if entries:
            found.append({title: entries})
    return found


def _entry(label: str, path: str, read: Callable[[str], str]) -> Entry:
    folder, name = posixpath.split(path)
    if name != "index.md":
        return path
    linked = (posixpath.normpath(posixpath.join(folder, target)) for _, target in _LINK.findall(read(path)))
    return {label: [path, *dict.fromkeys(page for page in linked if posixpath.dirname(page) == folder)]}
