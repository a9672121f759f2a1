"""What data may not do to whoever decodes them.

The decoder is compiled code that calls itself for each type within a type: data of a recursive type could exhaust the
stack, which ends the process. It also believes every count: a million million items that take no bytes are a few bytes
of data. So data of such schemas are skimmed before they are decoded. Schemas that are neither recursive nor have items
without bytes cannot do harm, and their data are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Enum,
    Fixed,
    Map,
    NameRef,
    Primitive,
    Record,
    Union,
    inner_types,
)
from ottla.schemas.errors import InvalidSchema, UnreadableData, UnwritableValue

# Records within records; compiled frames are large, and threads may have small stacks.
DEPTH_MAX: Final = 200
# Items that take no bytes, in all arrays of a record.
EMPTY_ITEMS_MAX: Final = 100_000

_WIDTHS: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_VARINT_BYTES_MAX: Final = 10


def check_ends(document: Document) -> None:
    """InvalidSchema for a record that contains itself without a choice: no value of it ever ends."""
    finished: set[str] = set()
    for start in document.types.values():
        if not isinstance(start, Record) or start.name.full in finished:
            continue
        path: dict[str, Iterator[Record]] = {start.name.full: _records_within(document, start)}
        while path:
            name, walk = next(reversed(path.items()))
            inner = next(walk, None)
            if inner is None:
                finished.add(name)
                path.pop(name)
            elif inner.name.full in path:
                raise InvalidSchema(
                    f"the record {inner.name.full} contains itself without end; make it optional where it recurs"
                )
            elif inner.name.full not in finished:
                path[inner.name.full] = _records_within(document, inner)


def _records_within(document: Document, record: Record) -> Iterator[Record]:
    for field in record.fields:
        one = document.resolve(field.type)
        if isinstance(one, Record):
            yield one


def is_recursive(document: Document) -> bool:
    return _can_harm(document, count_empty=False)


def _can_harm(document: Document, *, count_empty: bool) -> bool:
    """Walks each named type once; a name that leads to a type around it is recursion."""
    finished: set[str] = set()
    stack: list[tuple[AvroType, bool]] = [(document.root, False)]
    around: set[str] = set()
    empty: dict[str, bool] = {}
    while stack:
        one, is_done = stack.pop()
        definite = document.resolve(one)
        if isinstance(definite, Record):
            name = definite.name.full
            if is_done:
                around.discard(name)
                finished.add(name)
                continue
            if name in around:
                return True
            if name in finished:
                continue
            around.add(name)
            stack.append((NameRef(name), True))
        if count_empty and isinstance(definite, Array) and _is_empty(document, definite.items, empty):
            return True
        stack += [(inner, False) for inner in inner_types(definite)]
    return False


def _is_empty(document: Document, one: AvroType, known: dict[str, bool]) -> bool:
    """Whether values of a type can take no bytes."""
    definite = document.resolve(one)
    match definite:
        case Primitive():
            return definite.kind == "null"
        case Fixed():
            return definite.size == 0
        case Record():
            name = definite.name.full
            if name not in known:
                # A record that contains itself has no values at all.
                known[name] = False
                known[name] = all(_is_empty(document, field.type, known) for field in definite.fields)
            return known[name]
    return False


class Skimmer:
    """Walks over data by their schema, and stops at what is too deep, too many, or not there."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.is_needed = _can_harm(document, count_empty=True)

    def check(self, data: bytes) -> None:
        """Raises UnreadableData."""
        try:
            _Skim(self._document, data).skip(self._document.root, "", 0)
        except RecursionError:
            # Many levels of arrays and maps between one record and the next.
            raise UnreadableData("the data are nested too deep") from None


class _Skim:
    def __init__(self, document: Document, data: bytes) -> None:
        self._document = document
        self._data = data
        self._position = 0
        self._empty_items = 0

    def skip(self, one: AvroType, path: str, depth: int) -> None:
        definite = self._document.resolve(one)
        match definite:
            case Primitive(kind="bytes" | "string"):
                self._advance(self._varint(path), path)
            case Primitive(kind="int" | "long"):
                self._varint(path)
            case Primitive():
                self._advance(_WIDTHS[definite.kind], path)
            case Fixed():
                self._advance(definite.size, path)
            case Enum():
                self._index(len(definite.symbols), path)
            case Union():
                self.skip(definite.branches[self._index(len(definite.branches), path)], path, depth)
            case Array():
                self._blocks(definite.items, path, depth, has_keys=False)
            case Map():
                self._blocks(definite.values, path, depth, has_keys=True)
            case Record():
                if depth == DEPTH_MAX:
                    raise UnreadableData(f"at {_show(path)}: records are nested deeper than {DEPTH_MAX} levels")
                for field in definite.fields:
                    self.skip(field.type, f"{path}/{field.name}", depth + 1)

    def _blocks(self, items: AvroType, path: str, depth: int, *, has_keys: bool) -> None:
        while count := self._varint(path):
            if count < 0:
                count = -count
                self._varint(path)
            for _ in range(count):
                before = self._position
                if has_keys:
                    self._advance(self._varint(path), path)
                self.skip(items, path, depth)
                if self._position == before:
                    self._empty_items += 1
                    if self._empty_items > EMPTY_ITEMS_MAX:
                        raise UnreadableData(f"at {_show(path)}: more than {EMPTY_ITEMS_MAX} items that take no bytes")

    def _index(self, count: int, path: str) -> int:
        index = self._varint(path)
        if not 0 <= index < count:
            raise UnreadableData(f"at {_show(path)}: {index} is none of {count} choices")
        return index

    def _advance(self, length: int, path: str) -> None:
        if not 0 <= length <= len(self._data) - self._position:
            raise UnreadableData(
                f"at {_show(path)}: {length} bytes are due, and {len(self._data) - self._position} are left"
            )
        self._position += length

    def _varint(self, path: str) -> int:
        number = 0
        for shift in range(0, 7 * _VARINT_BYTES_MAX, 7):
            if self._position == len(self._data):
                raise UnreadableData(f"at {_show(path)}: the data end within a number")
            byte = self._data[self._position]
            self._position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
        raise UnreadableData(f"at {_show(path)}: a number of more than {_VARINT_BYTES_MAX} bytes")


def _show(path: str) -> str:
    """A path for a message; of a long one the end."""
    return f"...{path[-77:]}" if len(path) > 80 else path or "/"


def check_depth(value: object) -> None:
    """UnwritableValue for a value that is too deep for a recursive type, or contains itself.

    Lists count as records do, so that nothing is written that nobody may read.
    """
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        inner: dict[int, object] = {}
        for one in level:
            if isinstance(one, dict):
                inner.update((id(each), each) for each in one.values())
            elif isinstance(one, list | tuple):
                inner.update((id(each), each) for each in one)
        if not inner:
            return
        level = list(inner.values())
    raise UnwritableValue(f"the value is nested deeper than {DEPTH_MAX} levels, or contains itself")
