from dataclasses import dataclass

import pytest

from ottla.schemas.compatibility import CompatibilityLevel, find_conflicts
from ottla.schemas.finding import Finding


@dataclass(frozen=True)
class Numbered:
    """A schema that reads what was written with a lower number."""

    number: int

    def compare(self, writer: "Numbered") -> list[Finding]:
        return [Finding("TOO_NEW", "/", str(writer.number))] if writer.number > self.number else []


VERSIONS = {1: Numbered(30), 2: Numbered(10)}


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("NONE", []),
        ("BACKWARD", []),
        ("BACKWARD_TRANSITIVE", [(1, True)]),
        ("FORWARD", [(2, False)]),
        ("FORWARD_TRANSITIVE", [(2, False)]),
        ("FULL", [(2, False)]),
        ("FULL_TRANSITIVE", [(2, False), (1, True)]),
    ],
)
def test_each_level_compares_its_versions_in_its_directions(level: str, expected: list[tuple[int, bool]]) -> None:
    found = find_conflicts(Numbered(20), VERSIONS, CompatibilityLevel(level))  # type: ignore[arg-type]
    assert [(conflict.version, conflict.is_backward) for conflict in found] == expected


def test_nothing_conflicts_with_no_versions() -> None:
    assert find_conflicts(Numbered(1), {}, CompatibilityLevel.FULL_TRANSITIVE) == []  # type: ignore[arg-type]
