"""Paths as they are matched: still encoded, without a slash at the end, and without a context before them.

A subject may have slashes, which its path has as `%2F`, so a path is taken apart before it is decoded. Clients that
work in one context have it in their base URL (`http://host:8081/contexts/.sales`): the subjects of such a path and of
its query belong to that context, unless they name another one.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from ottla.registry.subjects import ALL_CONTEXTS, DEFAULT_CONTEXT, Subject, parse_subject

_CONTEXTS: Final = "contexts"
# What a subject or a context comes after.
_BEFORE_SUBJECTS: Final = ("subjects", "config", "mode")
_SETTINGS: Final = ("config", "mode")
_LISTS: Final = ("schemas", "subjects")


class EncodedPaths:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = scope.get("raw_path") or quote(scope["path"]).encode()
            path, query = leave_context(raw.decode("latin-1"), scope["query_string"].decode("latin-1"))
            # In place: whoever measures requests looks there for what has served them.
            scope.update(path=path, query_string=query.encode("latin-1"))
        await self._app(scope, receive, send)


def leave_context(path: str, query: str) -> tuple[str, str]:
    """The same request without a context before its path."""
    segments = path.rstrip("/").split("/")[1:]
    # A context alone is a context to be deleted, and no base URL.
    if len(segments) < 3 or segments[0] != _CONTEXTS:
        return "/" + "/".join(segments), query
    context = unquote(segments[1], errors="surrogateescape").strip(":")
    whole_context = Subject(context if context.startswith(DEFAULT_CONTEXT) else f".{context}", "").whole_context
    rest = segments[2:]
    places = [place for place, one in enumerate(rest) if one in _BEFORE_SUBJECTS]
    if places and places[0] + 1 < len(rest):
        rest[places[0] + 1] = _qualified(rest[places[0] + 1], whole_context)
    elif rest[0] in _SETTINGS:
        rest.append(quote(whole_context, safe=""))
    if rest[:2] == ["schemas", "ids"]:
        query = _replace(query, "subject", whole_context)
    elif len(rest) == 1 and rest[0] in _LISTS:
        query = _replace(query, "subjectPrefix", whole_context)
    return "/" + "/".join(rest), query


def _qualified(segment: str, whole_context: str) -> str:
    name = unquote(segment, errors="surrogateescape")
    return segment if _names_a_context(name) else quote(whole_context + name, safe="", errors="surrogateescape")


def _replace(query: str, name: str, whole_context: str) -> str:
    given = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    value = dict(given).get(name, "")
    if not _names_a_context(value):
        value = whole_context + value
    return urlencode([*((key, one) for key, one in given if key != name), (name, value)], errors="surrogateescape")


def _names_a_context(subject: str) -> bool:
    return subject.startswith(ALL_CONTEXTS) or parse_subject(subject).context != DEFAULT_CONTEXT
