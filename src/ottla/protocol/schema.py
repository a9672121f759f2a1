"""What the generated message classes have in common, and how their tables are read.

A class carries the facts of its format in `FIELDS`, one row per field: (name, type, versions, nullable versions, tag,
tagged versions), versions written as Kafka writes them ("0+", "2-5", "" for none). The codec compiles functions from
these rows; nothing else interprets them.
"""

from typing import Any, ClassVar, TypeAlias

# Record batches, never opened on the way through: a slice of the frame they arrived in, or the buffers they were read
# into.
Records: TypeAlias = bytes | bytearray | memoryview

FieldRow: TypeAlias = "tuple[str, str, str, str, int, str]"


class Message:
    """A struct of the protocol: compared by value, printed by field."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    FIELDS: ClassVar[tuple[FieldRow, ...]]
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[range] = range(0)
    FLEXIBLE_FROM: ClassVar[int]
    LATEST_VERSION_UNSTABLE: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(_same(getattr(self, row[0]), getattr(other, row[0])) for row in self.FIELDS)

    def __repr__(self) -> str:
        values = ", ".join(f"{row[0]}={getattr(self, row[0])!r}" for row in self.FIELDS)
        return f"{type(self).__name__}({values})"


def _same(left: Any, right: Any) -> bool:
    # A decoded array is a list, a default one an empty tuple: both are the same array.
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def version_bounds(versions: str) -> tuple[int, int]:
    """First and last version of a range as Kafka writes it; an empty range for an empty text."""
    if not versions or versions == "none":
        return 1, 0
    if versions.endswith("+"):
        return int(versions[:-1]), 32767
    low, _, high = versions.partition("-")
    return int(low), int(high or low)
