"""From an Avro schema to the kind of its column, with the types that Spark's own `from_avro` has.

Values of unions do not say which branch they are of. What Python tells apart is told apart by the value; records are
not, so a schema with a choice of records is read through `labelled`: its records have one more field, which no writer
has, and whose default is their name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.column_kinds import Choice, Dictionary, Field, Growth, Kind, List, Plain, Struct
from ottla.schemas.avro.avro_format import AvroFormat, AvroSchema
from ottla.schemas.avro.logical_types import logical_type_of
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Definite,
    Document,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
    describe,
    inner_types,
)
from ottla.schemas.errors import UnwritableValue

# Of the field that a labelled record has.
LABEL: Final = "ottla__record"
_DECIMAL_DIGITS_MAX: Final = 38

_PRIMITIVES: Final[dict[str, DataType]] = {
    "null": NullType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a time on some wall clock


def avro_kind(schema: AvroSchema) -> Kind:
    """PipelineError for a schema that no column has the type of."""
    return _KindMaker(schema.document).kind(schema.document.root, ())


def labelled(schema: AvroSchema) -> str:
    """The text of a schema with all that it refers to, whose records say what they are where that is in doubt."""
    text = schema.formatted("resolved")
    if not _has_choice_of_records(schema.document):
        return text
    tree = json.loads(text)
    _label_records(tree, None)
    made = json.dumps(tree)
    AvroFormat().parse(made, {}, is_new=False)
    return made


class _KindMaker:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._growth = Growth()

    def kind(self, one: AvroType, around: tuple[str, ...]) -> Kind:
        self._growth.note(len(around))
        definite = self._document.resolve(one)
        match definite:
            case Primitive():
                return _primitive_kind(definite)
            case Fixed():
                return _logical_kind(definite) or Plain(BinaryType())
            case Enum():
                return Plain(StringType())
            case Array():
                item, has_nulls = self._part(definite.items, (*around, ""))
                return List(item, has_nulls=has_nulls)
            case Map():
                item, has_nulls = self._part(definite.values, (*around, ""))
                return Dictionary(item, has_nulls=has_nulls)
            case Record():
                return self._record(definite, around)
            case Union():
                return self._part(definite, around)[0]
        raise AssertionError(f"{definite} is none of the types")

    def _record(self, record: Record, around: tuple[str, ...]) -> Kind:
        name = record.name.full
        if name in around:
            raise PipelineError(
                f"the record {name} contains itself, which no column can: Spark's types have an end. Read the topic "
                "with another schema, in which it does not"
            )
        fields = []
        for field in record.fields:
            kind, is_nullable = self._part(field.type, (*around, name))
            fields.append(Field(field.name, kind, is_nullable))
        return Struct(fields)

    def _part(self, one: AvroType, around: tuple[str, ...]) -> tuple[Kind, bool]:
        """A kind, and whether there may be null instead of a value."""
        definite = self._document.resolve(one)
        if not isinstance(definite, Union):
            return self.kind(one, around), isinstance(definite, Primitive) and definite.kind == "null"
        branches = [self._document.resolve(branch) for branch in definite.branches]
        there = [branch for branch in branches if branch.kind != "null"]
        return self._choice(there, around), len(there) < len(branches)

    def _choice(self, branches: Sequence[Definite], around: tuple[str, ...]) -> Kind:
        if not branches:
            return Plain(NullType())
        if len(branches) == 1:
            return self.kind(branches[0], around)
        plain = {branch.kind for branch in branches if isinstance(branch, Primitive) and not logical_type_of(branch)}
        if len(branches) == 2 and plain == {"int", "long"}:
            return Plain(LongType())
        if len(branches) == 2 and plain == {"float", "double"}:
            return Plain(DoubleType(), write=lambda cell: ("double", cell))
        names = [_branch_name(branch) for branch in branches]

        def choose(value: object) -> int:
            return _find_branch(branches, value)

        def label(which: int, value: object) -> object:
            return (names[which], value)

        return Choice([self.kind(branch, (*around, "")) for branch in branches], choose, label)


def _primitive_kind(one: Primitive) -> Kind:
    return _logical_kind(one) or Plain(_PRIMITIVES[one.kind])


def _logical_kind(one: Primitive | Fixed) -> Kind | None:
    """Of a logical type that Spark knows. Values of a writer without it are bare numbers, in the reader's unit."""
    match logical_type_of(one):
        case "date":
            return Plain(DateType())
        case "timestamp-millis":
            return Plain(TimestampType(), _instant(1000), _to_instant)
        case "timestamp-micros":
            return Plain(TimestampType(), _instant(1), _to_instant)
        case "local-timestamp-millis":
            return Plain(TimestampNTZType(), _local_time(1000), _to_local_time)
        case "local-timestamp-micros":
            return Plain(TimestampNTZType(), _local_time(1), _to_local_time)
        case "time-millis":
            return Plain(IntegerType(), lambda value: _micros_of_day(value, 1000), lambda cell: _to_time(cell, 1000))
        case "time-micros":
            return Plain(LongType(), lambda value: _micros_of_day(value, 1), lambda cell: _to_time(cell, 1))
        case "uuid":
            return Plain(StringType(), str, _to_uuid)
        case "decimal":
            precision, scale = one.props["precision"], one.props.get("scale", 0)
            assert isinstance(precision, int) and isinstance(scale, int)
            if precision <= _DECIMAL_DIGITS_MAX:
                return Plain(DecimalType(precision, scale))
            return Plain(StringType(), str, Decimal)
    return None


def _instant(micros_per_unit: int) -> Any:
    def read(value: Any) -> datetime:
        return _EPOCH + timedelta(microseconds=value * micros_per_unit) if isinstance(value, int) else value

    return read


def _local_time(micros_per_unit: int) -> Any:
    def read(value: Any) -> datetime:
        return _LOCAL_EPOCH + timedelta(microseconds=value * micros_per_unit) if isinstance(value, int) else value

    return read


def _to_instant(cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.tzinfo is None:
        raise UnwritableValue(f"{cell} is a time on a wall clock, where a point in time is due: cast it to timestamp")
    return cell


def _to_local_time(cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        raise UnwritableValue(f"{cell} is a point in time, where one on a wall clock is due: cast it to timestamp_ntz")
    return cell


def _micros_of_day(value: Any, micros_per_unit: int) -> int:
    if isinstance(value, int):
        return value
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    micros: int = seconds * 1_000_000 + value.microsecond
    return micros // micros_per_unit


def _to_time(cell: Any, micros_per_unit: int) -> time:
    try:
        return (_LOCAL_EPOCH + timedelta(microseconds=cell * micros_per_unit)).time()
    except (TypeError, OverflowError):
        raise UnwritableValue(f"{cell!r} is no time of a day") from None


def _to_uuid(cell: Any) -> UUID:
    try:
        return UUID(cell)
    except (TypeError, ValueError, AttributeError):
        raise UnwritableValue(f"{cell!r} is no UUID") from None


# -- unions -----------------------------------------------------------------------------------------------------------


def _branch_name(branch: Definite) -> str:
    """As encoders want it."""
    return branch.name.full if isinstance(branch, Record | Enum | Fixed) else branch.kind


def _find_branch(branches: Sequence[Definite], value: Any) -> int:
    """The best one: a number of a writer's int may be of a long now, but is an int if there is one."""
    for is_fit in (_is_exactly, _is_nearly):
        for index, branch in enumerate(branches):
            if is_fit(branch, value):
                return index
    raise ValueError(f"{value!r} is of none of {', '.join(map(describe, branches))}")


def _is_exactly(branch: Definite, value: Any) -> bool:
    match branch:
        case Record():
            return (
                isinstance(value, dict)
                and value.get(LABEL, branch.name.full) == branch.name.full
                and _has_fields(branch, value)
            )
        case Enum():
            return isinstance(value, str) and value in branch.symbols
        case Array():
            return isinstance(value, list)
        case Map():
            return isinstance(value, dict) and LABEL not in value
        case Fixed() | Primitive():
            logical = logical_type_of(branch)
            if logical in _VALUE_TYPES:
                return type(value) is _VALUE_TYPES[logical]
            if isinstance(branch, Fixed):
                return isinstance(value, bytes) and len(value) == branch.size
            if branch.kind == "int":
                return type(value) is int and -(1 << 31) <= value < 1 << 31
            return type(value) is _PRIMITIVE_VALUES[branch.kind]
    return False


def _is_nearly(branch: Definite, value: Any) -> bool:
    """A float of which a writer's int was made, and the like."""
    kind = branch.kind
    return (kind in ("float", "double") and type(value) is int) or (kind == "long" and type(value) is int)


def _has_fields(record: Record, value: dict[str, Any]) -> bool:
    return value.keys() - {LABEL} == {field.name for field in record.fields} - {LABEL}


_VALUE_TYPES: Final[dict[str | None, type]] = {
    "date": date,
    "timestamp-millis": datetime,
    "timestamp-micros": datetime,
    "local-timestamp-millis": datetime,
    "local-timestamp-micros": datetime,
    "time-millis": time,
    "time-micros": time,
    "uuid": UUID,
    "decimal": Decimal,
}
_PRIMITIVE_VALUES: Final[dict[str, type]] = {
    "boolean": bool,
    "long": int,
    "float": float,
    "double": float,
    "bytes": bytes,
    "string": str,
}


def _has_choice_of_records(document: Document) -> bool:
    left: list[AvroType] = [document.root, *document.types.values()]
    while left:
        one = document.resolve(left.pop())
        parts = inner_types(one)
        records = [part for part in parts if isinstance(document.resolve(part), Record)]
        if isinstance(one, Union) and len(records) > 1:
            return True
        # Records are among the types already, and may contain themselves.
        left += [part for part in parts if part not in records]
    return False


def _label_records(tree: Any, namespace: str | None) -> None:
    if isinstance(tree, list):
        for branch in tree:
            _label_records(branch, namespace)
    elif isinstance(tree, dict):
        kind = tree.get("type")
        if kind in ("record", "error"):
            name, space = tree["name"], tree.get("namespace", namespace)
            if "." in name:
                space = name.rpartition(".")[0]
            else:
                name = f"{space}.{name}" if space else name
            for field in tree["fields"]:
                _label_records(field["type"], space)
            tree["fields"].append({"name": LABEL, "type": "string", "default": name})
        else:
            for part in ("items", "values"):
                _label_records(tree.get(part), namespace)
            if not isinstance(kind, str):
                _label_records(kind, namespace)
