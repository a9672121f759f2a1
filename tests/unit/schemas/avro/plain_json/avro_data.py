"""Schemas, and data that were written with them, byte by byte."""

from __future__ import annotations

import itertools
import json
import struct
from typing import Any

from hypothesis import strategies as st

from ottla.protocol.primitives import write_varint
from unit.schemas.avro.schemas import field, record

Draw = st.DrawFn
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100) | st.integers(-(10**15), 10**15)
INTS = st.integers(-(2**31), 2**31 - 1) | st.integers(-40_000, 40_000)
LOGICAL_LONGS = ("time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-nanos")
SCALARS = st.sampled_from(
    [
        *("null", "boolean", "int", "long", "float", "double", "string", "bytes"),
        {"type": "int", "logicalType": "date"},
        {"type": "int", "logicalType": "time-millis"},
        *({"type": "long", "logicalType": logical} for logical in LOGICAL_LONGS),
        {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 3},
        {"type": "string", "logicalType": "uuid"},
    ]
)


@st.composite
def schemas_and_data(draw: Draw) -> tuple[str, bytes]:
    schema = draw(_schemas(3, itertools.count()))
    return json.dumps(schema), draw(_data(schema))


@st.composite
def _schemas(draw: Draw, depth: int, numbers: itertools.count[int], in_union: bool = False) -> Any:
    kinds = ["scalar", "enum", "fixed"]
    if depth:
        kinds += ["array", "map", "record"] if in_union else ["array", "map", "record", "union"]
    kind = draw(st.sampled_from(kinds))
    name = f"T{next(numbers)}"
    match kind:
        case "scalar":
            return draw(SCALARS)
        case "enum":
            return {"type": "enum", "name": name, "symbols": ["A", "B", "map"]}
        case "fixed":
            more = draw(st.sampled_from([{}, {"logicalType": "decimal", "precision": 4, "scale": 1}]))
            return {"type": "fixed", "name": name, "size": 2, **more}
        case "array":
            return {"type": "array", "items": draw(_schemas(depth - 1, numbers))}
        case "map":
            return {"type": "map", "values": draw(_schemas(depth - 1, numbers))}
        case "record":
            names = draw(st.lists(st.sampled_from(["a", "b", "map", "bytes"]), max_size=3, unique=True))
            return record(*(field(one, draw(_schemas(depth - 1, numbers))) for one in names), name=name)
    branches = draw(st.lists(_schemas(depth - 1, numbers, in_union=True), min_size=1, max_size=4))
    return list({_branch_name(branch): branch for branch in branches}.values())


def _branch_name(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    return str(schema.get("name", schema["type"]))


@st.composite
def _data(draw: Draw, schema: Any) -> bytes:
    if isinstance(schema, list):
        index = draw(st.integers(0, len(schema) - 1))
        return write_varint(index) + draw(_data(schema[index]))
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "null":
            return b""
        case "boolean":
            return draw(st.sampled_from((b"\0", b"\1")))
        case "int" | "long":
            return write_varint(draw(INTS if kind == "int" else LONGS))
        case "float":
            return struct.pack("<f", draw(st.floats(width=32)))
        case "double":
            return struct.pack("<d", draw(st.floats()))
        case "string":
            return _sized(draw(st.text(max_size=5) | st.sampled_from(["NaN", "A", "1.5", "2024-06-10"])).encode())
        case "bytes":
            return _sized(draw(st.binary(max_size=5)))
        case "enum":
            return write_varint(draw(st.integers(0, len(schema["symbols"]) - 1)))
        case "fixed":
            return draw(st.binary(min_size=schema["size"], max_size=schema["size"]))
        case "array":
            return _block(draw(st.lists(_data(schema["items"]), max_size=3)))
        case "map":
            entries = draw(
                st.dictionaries(st.sampled_from(["a", "map", "bytes", "T0"]), _data(schema["values"]), max_size=2)
            )
            return _block([_sized(key.encode()) + value for key, value in entries.items()])
    return b"".join(draw(_data(one["type"])) for one in schema["fields"])


def _sized(data: bytes) -> bytes:
    return write_varint(len(data)) + data


def _block(items: list[bytes]) -> bytes:
    return (write_varint(len(items)) if items else b"") + b"".join(items) + b"\0"
