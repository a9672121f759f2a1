"""How values of a schema's type become a Spark column, and how cells of one become values.

A value is what a decoder of `ottla.schemas` gives, or an encoder takes; a cell is what Arrow makes of one field of a
row. A kind is made for each type of a schema, from the leaves up. Columns are built field by field, because Arrow takes
a list of plain values ten times as fast as a list of dicts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from ottla.pipeline.errors import PipelineError
from ottla.schemas.errors import UnwritableValue

# Named types may be used often, and each use is a column of its own: without a bound, a small text unfolds without end.
KINDS_MAX: Final = 20_000
DEPTH_MAX: Final = 64

Convert = Callable[[Any], Any]


class Kind(Protocol):
    @property
    def spark_type(self) -> DataType: ...

    def column(self, values: Sequence[Any]) -> pa.Array:
        """Values, or None where there is none, as Arrow has them for Spark. Raises one of MISFITS."""

    def value(self, cell: Any) -> Any:
        """Raises UnwritableValue for a cell that is of another type."""

    def check(self, given: pa.DataType, path: str) -> None:
        """PipelineError if cells of a type have fields that the schema does not have: they would be lost."""


# What building a column raises if a value does not fit it.
MISFITS: Final = (pa.ArrowException, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Plain:
    """One value in one cell. `read` and `write` convert it where Arrow and the format differ."""

    def __init__(self, spark_type: DataType, read: Convert | None = None, write: Convert | None = None) -> None:
        self.spark_type = spark_type
        self._arrow_type = arrow_type_of(spark_type)
        self._read = read
        self._write = write

    def column(self, values: Sequence[Any]) -> pa.Array:
        if self._read is not None:
            read = self._read
            values = [None if value is None else read(value) for value in values]
        return pa.array(values, self._arrow_type)

    def value(self, cell: Any) -> Any:
        return cell if cell is None or self._write is None else self._write(cell)

    def check(self, given: pa.DataType, path: str) -> None:
        """What does not fit is found by the encoder, value by value."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: Kind
    is_nullable: bool
    # Whether null is written by leaving the field out.
    omits_null: bool = False


class Struct:
    """Values are mappings."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.spark_type = StructType([StructField(one.name, one.kind.spark_type, one.is_nullable) for one in fields])
        self._fields = tuple(fields)
        self._arrow_type = arrow_type_of(self.spark_type)

    def column(self, values: Sequence[Any]) -> pa.Array:
        is_null = _nulls(values)
        if is_null is not None:
            values = [_NOTHING if value is None else value for value in values]
        if not self._fields:
            return pa.array([None if is_null and is_null[n] else {} for n in range(len(values))], self._arrow_type)
        return pa.StructArray.from_arrays(
            [one.kind.column([value.get(one.name) for value in values]) for one in self._fields],
            fields=list(self._arrow_type),
            mask=_mask(is_null),
        )

    def value(self, cell: Any) -> Any:
        if cell is None:
            return None
        if not isinstance(cell, Mapping):
            raise UnwritableValue(f"{cell!r} is no struct of {', '.join(self.spark_type.names)}")
        found = {}
        for one in self._fields:
            if one.name in cell:
                inner = cell[one.name]
                if inner is not None or not one.omits_null:
                    found[one.name] = one.kind.value(inner)
        return found

    def check(self, given: pa.DataType, path: str) -> None:
        if not pa.types.is_struct(given):
            return
        kinds = {one.name: one.kind for one in self._fields}
        for field in given:
            here = f"{path}.{field.name}" if path else field.name
            if field.name not in kinds:
                raise PipelineError(
                    f"the schema has no field {here}, so it would be lost: it has {', '.join(kinds) or 'none'}. Leave "
                    "the field out, or register a version of the schema that has it"
                )
            kinds[field.name].check(field.type, here)


class List:
    """Values are sequences."""

    def __init__(self, item: Kind, *, has_nulls: bool) -> None:
        self.spark_type = ArrayType(item.spark_type, has_nulls)
        self._item = item
        self._arrow_type = arrow_type_of(self.spark_type)

    def column(self, values: Sequence[Any]) -> pa.Array:
        items = self._item.column(list(itertools.chain.from_iterable(value or () for value in values)))
        return pa.ListArray.from_arrays(_offsets(values), items, type=self._arrow_type, mask=_mask(_nulls(values)))

    def value(self, cell: Any) -> Any:
        return None if cell is None else [self._item.value(item) for item in cell]

    def check(self, given: pa.DataType, path: str) -> None:
        if pa.types.is_list(given) or pa.types.is_large_list(given):
            self._item.check(given.value_type, f"{path}[]")


class Dictionary:
    """Values are mappings of any keys, which in most formats are texts."""

    def __init__(self, item: Kind, *, has_nulls: bool, key: Kind | None = None) -> None:
        self._key: Kind = key or Plain(StringType())
        self._item = item
        self.spark_type = MapType(self._key.spark_type, item.spark_type, has_nulls)
        self._arrow_type = arrow_type_of(self.spark_type)

    def column(self, values: Sequence[Any]) -> pa.Array:
        keys = self._key.column(list(itertools.chain.from_iterable(value or () for value in values)))
        items = self._item.column(
            list(itertools.chain.from_iterable(() if value is None else value.values() for value in values))
        )
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=self._arrow_type, mask=_mask(_nulls(values)))

    def value(self, cell: Any) -> Any:
        # Arrow has a map as pairs.
        return None if cell is None else {self._key.value(key): self._item.value(item) for key, item in cell}

    def check(self, given: pa.DataType, path: str) -> None:
        if pa.types.is_map(given):
            self._item.check(given.item_type, f"{path}{{}}")


class Choice:
    """Values of one of several kinds: a struct of a field for each, `member0`, `member1`, ..., of which one is there.

    `choose` tells by a value which it is; `label` makes of a cell of one of them a value that says so.
    """

    def __init__(
        self, members: Sequence[Kind], choose: Callable[[Any], int], label: Callable[[int, Any], object]
    ) -> None:
        self._members = tuple(members)
        self._choose = choose
        self._label = label
        self.spark_type = StructType([StructField(f"member{n}", member.spark_type) for n, member in enumerate(members)])
        self._arrow_type = arrow_type_of(self.spark_type)

    def column(self, values: Sequence[Any]) -> pa.Array:
        chosen = [None if value is None else self._choose(value) for value in values]
        pairs = list(zip(chosen, values, strict=True))
        return pa.StructArray.from_arrays(
            [
                member.column([value if which == n else None for which, value in pairs])
                for n, member in enumerate(self._members)
            ],
            fields=list(self._arrow_type),
            mask=_mask(_nulls(values)),
        )

    def value(self, cell: Any) -> Any:
        if cell is None:
            return None
        there = [n for n in range(len(self._members)) if cell.get(f"member{n}") is not None]
        if len(there) != 1:
            names = ", ".join(f"member{n}" for n in there) or "none"
            raise UnwritableValue(f"one of the {len(self._members)} members must be there, not {names}")
        return self._label(there[0], self._members[there[0]].value(cell[f"member{there[0]}"]))

    def check(self, given: pa.DataType, path: str) -> None:
        kinds = {f"member{n}": member for n, member in enumerate(self._members)}
        for field in given if pa.types.is_struct(given) else ():
            here = f"{path}.{field.name}" if path else field.name
            if field.name not in kinds:
                raise PipelineError(
                    f"{here} is none of {', '.join(kinds)}, which a choice of {len(kinds)} types is a struct of"
                )
            kinds[field.name].check(field.type, here)


class Growth:
    """Counts the kinds that are made of one schema."""

    def __init__(self) -> None:
        self._count = 0

    def note(self, depth: int) -> None:
        self._count += 1
        if self._count > KINDS_MAX or depth > DEPTH_MAX:
            raise PipelineError(
                f"the schema is too large for a column: it has more than {KINDS_MAX} fields, or more than {DEPTH_MAX} "
                "levels of them"
            )


def arrow_type_of(spark_type: DataType) -> pa.DataType:
    """What Spark takes from a function as this type."""
    return to_arrow_schema(StructType([StructField("column", spark_type)]), timezone="UTC").field(0).type


_NOTHING: Final[Mapping[str, Any]] = {}


def _nulls(values: Sequence[Any]) -> list[bool] | None:
    return [value is None for value in values] if any(value is None for value in values) else None


def _mask(is_null: list[bool] | None) -> pa.Array | None:
    return None if is_null is None else pa.array(is_null, pa.bool_())


def _offsets(values: Iterable[Any]) -> pa.Array:
    lengths = (0 if value is None else len(value) for value in values)
    return pa.array(itertools.accumulate(lengths, initial=0), pa.int32())
