"""Which error codes an answer holds, wherever the protocol puts them.

Most answers have a row for each topic, partition or group, and each row an `error_code`. Where they are is read once
from the message's table of fields.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.protocol.schema import Message

# Appends to a list the codes of a message that are not NONE.
Search: TypeAlias = Callable[[Any, list[int]], None]


_SEARCHES: dict[type[Message], Search | None] = {}


def error_codes(response: Message) -> list[int]:
    """The codes other than NONE, one for each place that has one."""
    message = type(response)
    if message not in _SEARCHES:
        _SEARCHES[message] = _search(message)
    search = _SEARCHES[message]
    found: list[int] = []
    if search is not None:
        search(response, found)
    return found


def _search(message: type[Message]) -> Search | None:
    """How to search messages of a class; None if they cannot hold an error."""
    has_code = any(row[0] == "error_code" for row in message.FIELDS)
    nested: list[tuple[str, Search]] = []
    for name, kind, *_ in message.FIELDS:
        element = getattr(sys.modules[message.__module__], kind[2:], None) if kind.startswith("[]") else None
        search = _search(element) if element is not None else None
        if search is not None:
            nested.append((name, search))
    if not has_code and not nested:
        return None

    def search_all(found_in: Any, found: list[int]) -> None:
        if has_code and found_in.error_code:
            found.append(found_in.error_code)
        for name, search in nested:
            for row in getattr(found_in, name) or ():
                search(row, found)

    return search_all
