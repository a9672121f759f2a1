"""A finding on the way: its path is relative to the pair of schemas that it was found in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.kinds import Kind


@dataclass(frozen=True, slots=True)
class Difference:
    rule: str
    path: tuple[str, ...]
    detail: str
    writer: Place | None
    reader: Place | None

    def below(self, *steps: str) -> Difference:
        return replace(self, path=(*steps, *self.path))


def differ(rule: str, detail: str, writer: Kind | None, reader: Kind | None, *path: str) -> Difference:
    return Difference(rule, path, detail, _place_of(writer), _place_of(reader))


def _place_of(kind: Kind | None) -> Place | None:
    return None if kind is None else kind.place


def compare_limits(
    keyword: str, rule: str, written: object, read: object, writer: Kind, reader: Kind
) -> list[Difference]:
    """A limit that was added or became tighter: lower if its keyword begins with max, higher if with min."""
    detail = f"{keyword} {'none' if written is None else written} -> {read}"
    if read is None or written == read:
        return []
    if written is None:
        return [differ(f"{rule}_ADDED", detail, writer, reader, keyword)]
    is_lower = read < written  # type: ignore[operator]
    if is_lower and "max" in keyword.lower():
        return [differ(f"{rule}_DECREASED", detail, writer, reader, keyword)]
    if not is_lower and "min" in keyword.lower():
        return [differ(f"{rule}_INCREASED", detail, writer, reader, keyword)]
    return []
