"""What keeps a schema from following earlier versions, in words: the rule, the place, and both sides.

The beginning of each message is as in Confluent's registry, whose tools look for it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ottla.schemas.compatibility import Conflict

# Two schemas of a megabyte may differ in ten thousand places, and hundreds of versions may be compared.
_TOLD_MAX: Final = 100
_SIDE_LENGTH_MAX: Final = 200


def describe_conflicts(conflicts: Sequence[Conflict], new_version: int) -> list[str]:
    """`new_version` is what the schema would become."""
    told = [_describe(one, new_version) for one in conflicts[:_TOLD_MAX]]
    left = len(conflicts) - len(told)
    return [*told, f"{{and {left} more}}"] if left else told


def _describe(conflict: Conflict, new_version: int) -> str:
    finding = conflict.finding
    new, old = f"the new version {new_version}", f"version {conflict.version}"
    reader, writer = (new, old) if conflict.is_backward else (old, new)
    sides = ""
    if finding.reader is not None or finding.writer is not None:
        sides = f"; the reader has {_shorten(finding.reader)}, the writer has {_shorten(finding.writer)}"
    return (
        f"{{errorType:'{finding.rule}', description:'at {finding.path or '/'} {reader} cannot read what {writer} "
        f"writes: {finding.detail}{sides}', additionalInfo:'{finding.detail}'}}, "
        f"{{oldSchemaVersion: {conflict.version}}}"
    )


def _shorten(side: str | None) -> str:
    if side is None:
        return "nothing"
    return side if len(side) <= _SIDE_LENGTH_MAX else f"{side[:_SIDE_LENGTH_MAX]}..."
