"""The seven levels of compatibility: which versions a new schema is compared with, and who has to read whom.

| level | compared with | the new one reads the old | the old one reads the new |
| --- | --- | --- | --- |
| NONE | nothing | | |
| BACKWARD | the newest version | yes | |
| FORWARD | the newest version | | yes |
| FULL | the newest version | yes | yes |
| *_TRANSITIVE | all versions | as above | as above |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ottla.schemas.finding import Finding
from ottla.schemas.format import ParsedSchema


class CompatibilityLevel(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.endswith("_TRANSITIVE")

    @property
    def new_reads_old(self) -> bool:
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        return self.startswith(("FORWARD", "FULL"))


@dataclass(frozen=True, slots=True)
class Conflict:
    """A finding between a new schema and one of the versions before."""

    version: int
    finding: Finding
    # Whether the new one is the reader.
    is_backward: bool


def find_conflicts(
    new: ParsedSchema, versions: Mapping[int, ParsedSchema], level: CompatibilityLevel
) -> list[Conflict]:
    """What keeps a new schema from following these versions; the newest version comes first.

    All schemas are of one format.
    """
    conflicts: list[Conflict] = []
    for version in sorted(versions, reverse=True):
        old = versions[version]
        if level.new_reads_old:
            conflicts += [Conflict(version, finding, is_backward=True) for finding in new.compare(old)]
        if level.old_reads_new:
            conflicts += [Conflict(version, finding, is_backward=False) for finding in old.compare(new)]
        if not level.is_transitive:
            break
    return conflicts
