"""Avro schemas by chance: valid for the most part, with what evolution does to them, and values for them."""

import copy
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from ottla.schemas.avro.model import Array, AvroType, Document, Enum, Fixed, Map, Primitive, Record, Union

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
SPACES = ("", "a", "a.b")
SYMBOLS = ("RED", "GREEN", "BLUE", "int", "Ä")
DEFAULTS: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": 7,
    "long": 1 << 40,
    "float": 0.1,
    "double": 1e21,
    "bytes": "\u00ff\u0001",
    "string": 'a "b"\n\\ \u001f ä €',
}
LOGICAL = (
    {"type": "int", "logicalType": "date"},
    {"type": "bytes", "logicalType": "decimal", "scale": 2, "precision": 4},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "string", "logicalType": "uuid", "z": {"b": 1, "a": [1.5, None]}},
    {"type": "string", "avro.java.string": "String"},
)


class SchemaMaker:
    """Makes one schema; names are few, so that some are defined twice and refused."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._defined: list[tuple[str, str]] = []
        self._count = 0

    def make(self, depth: int = 3, space: str = "") -> Any:
        kinds = ["primitive", "primitive", "logical", "name"]
        if depth > 0:
            kinds += ["record", "record", "enum", "fixed", "array", "map", "union", "union"]
        match self._chance.choice(kinds):
            case "primitive":
                return self._chance.choice(PRIMITIVES)
            case "logical":
                return copy.deepcopy(self._chance.choice(LOGICAL))
            case "name" if self._defined:
                return self._chance.choice(self._defined)[1]
            case "record":
                return self._record(depth, space)
            case "enum":
                return self._named("enum", space) | {"symbols": self._some(SYMBOLS)}
            case "fixed":
                return self._named("fixed", space) | {"size": self._chance.choice((0, 4, 16))}
            case "array":
                return {"type": "array", "items": self.make(depth - 1, space)}
            case "map":
                return {"type": "map", "values": self.make(depth - 1, space), "order": 1}
            case "union":
                return self._union(depth, space)
        return "string"

    def record(self) -> Any:
        return self._record(3, "")

    def _some(self, choices: tuple[str, ...]) -> list[str]:
        return self._chance.sample(choices, self._chance.randint(1, len(choices)))

    def _named(self, kind: str, space: str) -> dict[str, Any]:
        self._count += 1
        name = f"{kind[0].upper()}{self._count if self._chance.random() < 0.97 else 1}"
        made: dict[str, Any] = {"type": kind, "name": name}
        if self._chance.random() < 0.3:
            made["namespace"] = space = self._chance.choice(SPACES)
        if self._chance.random() < 0.2:
            made["aliases"] = [self._chance.choice(("Old", "a.Old", "x.y.Old")), name]
        if self._chance.random() < 0.2:
            made["doc"] = self._chance.choice(("", "what it is"))
        if self._chance.random() < 0.2:
            made["owner"] = {"team": "x", "age": 1.0}
        self._defined.append((kind, f"{space}.{name}" if space else name))
        return made

    def _record(self, depth: int, space: str) -> Any:
        made = self._named("record", space)
        inner = made.get("namespace", space)
        if self._chance.random() < 0.1:
            made["type"] = "error"
        made["fields"] = [self._field(f"f{index}", depth, inner) for index in range(self._chance.randint(0, 4))]
        return made

    def _field(self, name: str, depth: int, space: str) -> Any:
        made: dict[str, Any] = {"name": name, "type": self.make(depth - 1, space)}
        add_default(self._chance, made)
        if self._chance.random() < 0.1:
            made["order"] = self._chance.choice(("ascending", "descending", "ignore", "IGNORE"))
        if self._chance.random() < 0.1:
            made["doc"] = "a field"
        if self._chance.random() < 0.1:
            made["sensitive"] = True
        return made

    def _union(self, depth: int, space: str) -> Any:
        branches: list[Any] = self._some(PRIMITIVES)[:3]
        if self._chance.random() < 0.6:
            branches.append(self._record(depth - 1, space))
        if self._chance.random() < 0.3:
            branches.append({"type": "array", "items": self.make(depth - 1, space)})
        if self._chance.random() < 0.2 and self._defined:
            branches.append(self._chance.choice(self._defined)[1])
        self._chance.shuffle(branches)
        return branches


def add_default(chance: random.Random, field: dict[str, Any]) -> None:
    """Half of the time, and only one that fits."""
    field.pop("default", None)
    if chance.random() < 0.5:
        return
    first = field["type"]
    if isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, str) and first in DEFAULTS:
        field["default"] = DEFAULTS[first]
    elif isinstance(first, dict) and first.get("type") == "array":
        field["default"] = []
    elif isinstance(first, dict) and first.get("type") == "map":
        field["default"] = {}


PROMOTIONS = {"int": "long", "long": "float", "float": "double", "string": "bytes", "bytes": "string"}


def evolve(chance: random.Random, schema: Any) -> Any:
    """A later version: a few changes, most of them such as people make."""
    changed = copy.deepcopy(schema)
    for _ in range(chance.randint(0, 3)):
        places = _places(changed)
        kind, holder, key = chance.choice(places)
        _change(chance, kind, holder, key)
    return changed


def _places(schema: Any) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []

    def visit(holder: Any, key: Any) -> None:
        one = holder[key]
        found.append(("type", holder, key))
        if isinstance(one, list):
            for index in range(len(one)):
                visit(one, index)
        elif isinstance(one, dict):
            if one["type"] in ("record", "error", "enum", "fixed"):
                found.append((one["type"], holder, key))
            for index, field in enumerate(one.get("fields", ())):
                found.append(("field", one["fields"], index))
                visit(field, "type")
            for inner in ("items", "values"):
                if inner in one:
                    visit(one, inner)

    visit([schema], 0)
    return found


def _change(chance: random.Random, kind: str, holder: Any, key: Any) -> None:
    one = holder[key] if not isinstance(holder, list) or key < len(holder) else None
    match kind:
        case "type" if isinstance(one, str) and one in PROMOTIONS:
            holder[key] = PROMOTIONS[one] if chance.random() < 0.7 else chance.choice(PRIMITIVES)
        case "type" if isinstance(one, str) and isinstance(holder, dict):
            holder[key] = ["null", one] if one != "null" else one
        case "type" if isinstance(one, list) and one:
            if len(one) == 1 or chance.random() < 0.5:
                one.append(chance.choice(PRIMITIVES))
            else:
                one.pop(chance.randrange(len(one)))
        case "record" | "error" if isinstance(one, dict):
            new: dict[str, Any] = {"name": f"g{len(one['fields'])}", "type": chance.choice(PRIMITIVES)}
            add_default(chance, new)
            one["fields"].insert(chance.randint(0, len(one["fields"])), new)
        case "enum" if isinstance(one, dict):
            one["symbols"] = chance.sample(SYMBOLS, chance.randint(1, 5))
            if chance.random() < 0.3:
                one["default"] = one["symbols"][0]
        case "fixed" if isinstance(one, dict):
            one["size"] += chance.choice((0, 1))
        case "field" if isinstance(one, dict):
            match chance.randint(0, 3):
                case 0:
                    one["aliases"] = [one["name"]]
                    one["name"] += "x"
                case 1:
                    holder.pop(key)
                case _:
                    add_default(chance, one)


def make_value(chance: random.Random, document: Document, one: AvroType, depth: int = 0) -> Any:
    """A value of a type; recursion ends soon."""
    definite = document.resolve(one)
    match definite:
        case Record():
            return {field.name: make_value(chance, document, field.type, depth + 1) for field in definite.fields}
        case Enum():
            return chance.choice(definite.symbols)
        case Fixed():
            return bytes(definite.size)
        case Array():
            return [
                make_value(chance, document, definite.items, depth + 1)
                for _ in range(chance.randint(0, max(0, 3 - depth)))
            ]
        case Map():
            return {
                f"k{key}": make_value(chance, document, definite.values, depth + 1)
                for key in range(chance.randint(0, max(0, 3 - depth)))
            }
        case Union():
            branches = definite.branches
            plain = [branch for branch in branches if isinstance(branch, Primitive)]
            branch = chance.choice(plain if depth > 3 and plain else branches)
            return _named(document, branch, make_value(chance, document, branch, depth + 1))
        case Primitive():
            return _primitive_value(chance, definite)
    raise AssertionError(definite)


def _named(document: Document, branch: AvroType, value: Any) -> Any:
    """With the branch's name, since a value alone may fit another one as well."""
    definite = document.resolve(branch)
    return (definite.name.full if isinstance(definite, Record | Enum | Fixed) else definite.kind, value)


def _primitive_value(chance: random.Random, one: Primitive) -> Any:
    match one.props.get("logicalType"):
        case "date":
            return date(2020, 1, chance.randint(1, 31))
        case "decimal":
            return Decimal(chance.randint(-9999, 9999)) / 100
        case "timestamp-millis":
            return datetime(2020, 1, 1, tzinfo=UTC) + timedelta(milliseconds=chance.randint(0, 10**12))
        case "uuid":
            return UUID(int=chance.getrandbits(128))
    values: dict[str, Any] = {
        "null": None,
        "boolean": chance.random() < 0.5,
        "int": chance.randint(-(2**31), 2**31 - 1),
        "long": chance.randint(-(2**63), 2**63 - 1),
        "float": chance.randint(-100, 100) / 4,
        "double": chance.random(),
        # Such as are texts too, so that they can be read as one.
        "bytes": b"b" * chance.randint(0, 3),
        "string": "ä€" * chance.randint(0, 3),
    }
    return values[one.kind]
