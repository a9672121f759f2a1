"""From bytes to JSON."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from ottla.schemas.avro.data_bounds import Skimmer, check_ends
from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.model import Array, AvroType, Document, Enum, Fixed, Map, Primitive, Record, Union
from ottla.schemas.avro.plain_json.branches import Branches
from ottla.schemas.avro.plain_json.scalars import scalar_of
from ottla.schemas.errors import UnreadableData
from ottla.schemas.format import Decode

_LONG_BITS: Final = 64
_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")


class _Unfit(Exception):
    """The data are not what the schema says."""


class _Cursor:
    __slots__ = ("_data", "position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def long(self) -> int:
        data, position = self._data, self.position
        number = shift = 0
        while True:
            if position == len(data) or shift > _LONG_BITS:
                raise _Unfit
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                return (number >> 1) ^ -(number & 1)
            shift += 7

    def take(self, count: int) -> bytes:
        start = self.position
        if not 0 <= count <= len(self._data) - start:
            raise _Unfit
        self.position = start + count
        return self._data[start : start + count]


Read = Callable[[_Cursor], Any]


def make_json_decoder(document: Document) -> Decode:
    """Raises UnreadableData for what does not fit the schema."""
    check_ends(document)
    read, skimmer = _Compiler(document).compile(), Skimmer(document)

    def decode(data: bytes) -> object:
        if skimmer.is_needed:
            skimmer.check(data)
        cursor = _Cursor(data)
        try:
            value: object = read(cursor)
        except (_Unfit, UnicodeDecodeError) as error:
            # It says where, as far as it looks at values.
            skimmer.check(data)
            raise UnreadableData(f"the data do not fit the schema: {error}") from None
        except RecursionError:
            raise UnreadableData("the data are nested too deep") from None
        left = len(data) - cursor.position
        if left:
            raise UnreadableData(f"{left} bytes are left behind the value; the data have another schema")
        return value

    return decode


class _Compiler:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._records: dict[str, Read] = {}
        # Records are completed one after the other, so that no chain of them is too long.
        self._open: deque[tuple[Record, list[tuple[str, Read]]]] = deque()

    def compile(self) -> Read:
        read = self._type(self._document.root)
        while self._open:
            record, fields = self._open.popleft()
            fields += [(field.name, self._type(field.type)) for field in record.fields]
        return read

    def _type(self, one: AvroType) -> Read:
        definite = self._document.resolve(one)
        match definite:
            case Record():
                return self._record(definite)
            case Array():
                return _blocks(self._type(definite.items), _add_item, list)
            case Map():
                return _blocks(self._type(definite.values), _add_entry, dict)
            case Union():
                return self._union(definite)
            case Enum():
                return _enum(definite)
            case _:
                return _scalar(definite)

    def _record(self, record: Record) -> Read:
        read = self._records.get(record.name.full)
        if read is None:
            fields: list[tuple[str, Read]] = []
            self._open.append((record, fields))

            def read(cursor: _Cursor) -> Json:
                return {name: read_field(cursor) for name, read_field in fields}

            self._records[record.name.full] = read
        return read

    def _union(self, union: Union) -> Read:
        branches = Branches(self._document, union)
        reads = [self._type(branch) for branch in union.branches]

        def read(cursor: _Cursor) -> Json:
            index = cursor.long()
            if not 0 <= index < len(reads):
                raise _Unfit
            return branches.show(index, reads[index](cursor))

        return read


def _blocks(read_item: Read, add: Callable[[Any, _Cursor, Read], None], make: Callable[[], Any]) -> Read:
    def read(cursor: _Cursor) -> Json:
        found: Json = make()
        while count := cursor.long():
            if count < 0:
                # A size in bytes follows, for those who skip the block.
                cursor.long()
                count = -count
            for _ in range(count):
                add(found, cursor, read_item)
        return found

    return read


def _add_item(found: list[Json], cursor: _Cursor, read: Read) -> None:
    found.append(read(cursor))


def _add_entry(found: dict[str, Json], cursor: _Cursor, read: Read) -> None:
    key = cursor.take(cursor.long()).decode()
    found[key] = read(cursor)


def _enum(one: Enum) -> Read:
    symbols = one.symbols

    def read(cursor: _Cursor) -> Json:
        index = cursor.long()
        if not 0 <= index < len(symbols):
            raise _Unfit
        return symbols[index]

    return read


def _scalar(one: Primitive | Fixed) -> Read:
    show = scalar_of(one).show
    if isinstance(one, Fixed):
        size = one.size
        return lambda cursor: show(cursor.take(size))
    match one.kind:
        case "null":
            return lambda _: None
        case "boolean":
            return _boolean
        case "int" | "long":
            largest = _INT_MAX if one.kind == "int" else _LONG_MAX
            return lambda cursor: show(_bounded(cursor.long(), largest))
        case "float":
            return lambda cursor: show(_FLOAT.unpack(cursor.take(4))[0])
        case "double":
            return lambda cursor: show(_DOUBLE.unpack(cursor.take(8))[0])
        case "bytes":
            return lambda cursor: show(cursor.take(cursor.long()))
        case _:
            return lambda cursor: cursor.take(cursor.long()).decode()


def _boolean(cursor: _Cursor) -> bool:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise _Unfit(f"{byte} is no boolean")
    return byte == 1


def _bounded(number: int, largest: int) -> int:
    if not -largest - 1 <= number <= largest:
        raise _Unfit(f"{number} is out of range")
    return number
