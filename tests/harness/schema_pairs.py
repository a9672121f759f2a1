"""Steps in the life of a schema, by what they change: the version before, and the one after."""

import json
from typing import Any

Pairs = dict[str, tuple[str, str]]


# -- Avro -------------------------------------------------------------------------------------------------------------


def _record(*fields: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)} | more)


def _field(type_: Any, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_} | more


def _changed(before: Any, after: Any) -> tuple[str, str]:
    """A record whose field changes its type."""
    return _record(_field(before)), _record(_field(after))


def _enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols)} | more


def _fixed(size: int, name: str = "F") -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


_INT = _field("int")

AVRO: Pairs = {
    "nothing changes": (_record(_INT), _record(_INT)),
    "a field without default comes": (_record(_INT), _record(_INT, _field("int", "b"))),
    "a field with default comes": (_record(_INT), _record(_INT, _field("int", "b", default=0))),
    "a nullable field comes": (_record(_INT), _record(_INT, _field(["null", "int"], "b", default=None))),
    "fields change places": (_record(_INT, _field("long", "b")), _record(_field("long", "b"), _INT)),
    "a field gets a default": (_record(_INT), _record(_field("int", default=1))),
    "a field is renamed": (_record(_INT), _record(_field("int", "b"))),
    "a field is renamed with an alias": (_record(_INT), _record(_field("int", "b", aliases=["a"]))),
    "a field is documented": (_record(_INT), _record(_field("int", doc="d", order="ignore"))),
    "the record is renamed": (_record(_INT), _record(_INT, name="S")),
    "the record is renamed with an alias": (_record(_INT), _record(_INT, name="S", aliases=["R"])),
    "the record moves to a namespace": (_record(_INT), _record(_INT, namespace="n")),
    "int to long": _changed("int", "long"),
    "int to double": _changed("int", "double"),
    "long to float": _changed("long", "float"),
    "float to double": _changed("float", "double"),
    "string to bytes": _changed("string", "bytes"),
    "string to int": _changed("string", "int"),
    "int to a date": _changed("int", {"type": "int", "logicalType": "date"}),
    "a decimal gets more digits": _changed(
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    ),
    "a type becomes nullable": _changed("int", ["null", "int"]),
    "a union gets a branch": _changed(["null", "int"], ["null", "int", "string"]),
    "branches change places": _changed(["null", "int"], ["int", "null"]),
    "a union of numbers becomes the widest": _changed(["int", "long"], "long"),
    "an enum gets a symbol": _changed(_enum("A"), _enum("A", "B")),
    "an enum with default gets a symbol": _changed(_enum("A", default="A"), _enum("A", "B", default="A")),
    "an enum is renamed": _changed(_enum("A"), _enum("A", name="F")),
    "a fixed grows": _changed(_fixed(4), _fixed(8)),
    "a fixed is renamed": _changed(_fixed(4), _fixed(4, "G")),
    "items get wider": _changed({"type": "array", "items": "int"}, {"type": "array", "items": "long"}),
    "values get narrower": _changed({"type": "map", "values": "long"}, {"type": "map", "values": "int"}),
    "an array becomes a map": _changed({"type": "array", "items": "int"}, {"type": "map", "values": "int"}),
    "a nested record gets a field": _changed(
        {"type": "record", "name": "N", "fields": [_INT]},
        {"type": "record", "name": "N", "fields": [_INT, _field("int", "b")]},
    ),
    "a recursive record gets a field": (
        _record(_field(["null", "R"], "next")),
        _record(_field(["null", "R"], "next"), _field("int", "b", default=0)),
    ),
    "a primitive becomes a record": ('"int"', _record(_INT)),
    "a union gets a record": ('["int"]', json.dumps(["int", json.loads(_record(_INT))])),
}


# -- JSON Schema ------------------------------------------------------------------------------------------------------


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | more


_NUMBER = {"type": "integer"}
_OPEN = _object({"a": _NUMBER})
_CLOSED = _object({"a": _NUMBER}, additionalProperties=False)


def _property(before: Any, after: Any) -> tuple[Any, Any]:
    """An object whose property changes its schema."""
    return _object({"a": before}), _object({"a": after})


_JSON: dict[str, tuple[Any, Any]] = {
    "nothing changes": (_OPEN, _OPEN),
    "an optional property comes to an open object": (_OPEN, _object({"a": _NUMBER, "b": _NUMBER})),
    "an optional property comes to a closed object": (
        _CLOSED,
        _object({"a": _NUMBER, "b": _NUMBER}, additionalProperties=False),
    ),
    "a required property comes to a closed object": (
        _CLOSED,
        _object({"a": _NUMBER, "b": _NUMBER}, additionalProperties=False, required=["b"]),
    ),
    "a required property with default comes to a closed object": (
        _CLOSED,
        _object({"a": _NUMBER, "b": _NUMBER | {"default": 0}}, additionalProperties=False, required=["b"]),
    ),
    "a property of the kind of all others comes": (
        _object({"a": _NUMBER}, additionalProperties=_NUMBER),
        _object({"a": _NUMBER, "b": _NUMBER}, additionalProperties=_NUMBER),
    ),
    "a property becomes required": (_OPEN, _OPEN | {"required": ["a"]}),
    "an object is closed": (_OPEN, _CLOSED),
    "other properties get a kind": (_OPEN, _OPEN | {"additionalProperties": _NUMBER}),
    "a description comes": (_OPEN, _OPEN | {"description": "d", "title": "t"}),
    "integer to number": _property(_NUMBER, {"type": "number"}),
    "integer to string": _property(_NUMBER, {"type": "string"}),
    "a type becomes nullable": _property(_NUMBER, {"type": ["integer", "null"]}),
    "a property may be anything": _property(_NUMBER, {}),
    "a maximum rises": _property({"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 9}),
    "a minimum comes": _property(_NUMBER, {"type": "integer", "minimum": 1}),
    "a multiple is divided": _property({"type": "integer", "multipleOf": 6}, {"type": "integer", "multipleOf": 3}),
    "a text may be longer": _property({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 9}),
    "a text must be longer": _property({"type": "string", "minLength": 1}, {"type": "string", "minLength": 2}),
    "a pattern comes": _property({"type": "string"}, {"type": "string", "pattern": "^a"}),
    "a pattern changes": _property({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}),
    "a format comes": _property({"type": "string"}, {"type": "string", "format": "date"}),
    "an enumeration grows": _property({"type": "string", "enum": ["x"]}, {"type": "string", "enum": ["x", "y"]}),
    "an enumeration comes": _property({"type": "string"}, {"type": "string", "enum": ["x"]}),
    "a constant comes": _property({"type": "string"}, {"type": "string", "const": "x"}),
    "items get wider": _property({"type": "array", "items": _NUMBER}, {"type": "array", "items": {"type": "number"}}),
    "an array may be longer": _property({"type": "array", "maxItems": 1}, {"type": "array", "maxItems": 2}),
    "items become unique": _property({"type": "array"}, {"type": "array", "uniqueItems": True}),
    "an object may have more properties": (_OPEN | {"maxProperties": 1}, _OPEN | {"maxProperties": 2}),
    "a choice comes": _property({"type": "string"}, {"oneOf": [{"type": "string"}, _NUMBER]}),
    "a choice grows": _property({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "boolean"}]}),
    "one more demand": _property({"allOf": [{"type": "string"}]}, {"allOf": [{"type": "string"}, {"maxLength": 5}]}),
    "what is excluded grows": _property({"not": {"type": "string"}}, {"not": {"type": ["string", "null"]}}),
    "a property moves into a definition": (
        _OPEN,
        _object({"a": {"$ref": "#/definitions/n"}}, definitions={"n": _NUMBER}),
    ),
    "a nested object gets a property": _property(
        _CLOSED, _object({"a": _NUMBER, "b": _NUMBER}, additionalProperties=False)
    ),
}
JSON: Pairs = {name: (json.dumps(before), json.dumps(after)) for name, (before, after) in _JSON.items()}


# -- Protobuf ---------------------------------------------------------------------------------------------------------


def _proto(before: str, after: str, head: str = 'syntax = "proto3";') -> tuple[str, str]:
    return f"{head}\n{before}\n", f"{head}\n{after}\n"


def _fields(before: str, after: str) -> tuple[str, str]:
    """A message whose fields change."""
    return _proto(f"message M {{ {before} }}", f"message M {{ {after} }}")


_PROTO2 = 'syntax = "proto2";'
_A, _AB = "int32 a = 1;", "int32 a = 1; int32 b = 2;"

PROTOBUF: Pairs = {
    "nothing changes": _fields(_A, _A),
    "a field comes": _fields(_A, _AB),
    "a field is renamed": _fields(_A, "int32 b = 1;"),
    "a field changes its number": _fields(_A, "int32 a = 2;"),
    "int32 to int64": _fields(_A, "int64 a = 1;"),
    "int32 to bool": _fields(_A, "bool a = 1;"),
    "int32 to sint32": _fields(_A, "sint32 a = 1;"),
    "fixed32 to sfixed32": _fields("fixed32 a = 1;", "sfixed32 a = 1;"),
    "fixed32 to fixed64": _fields("fixed32 a = 1;", "fixed64 a = 1;"),
    "string to bytes": _fields("string a = 1;", "bytes a = 1;"),
    "int32 to string": _fields(_A, "string a = 1;"),
    "float to double": _fields("float a = 1;", "double a = 1;"),
    "an enum becomes a number": _fields("enum E { X = 0; } E a = 1;", "enum E { X = 0; } int32 a = 1;"),
    "an enum gets a value": _proto(
        "enum E { X = 0; } message M { E a = 1; }", "enum E { X = 0; Y = 1; } message M { E a = 1; }"
    ),
    "an enum's value is renamed": _proto(
        "enum E { X = 0; } message M { E a = 1; }", "enum E { Z = 0; } message M { E a = 1; }"
    ),
    "a field becomes repeated": _fields(_A, "repeated int32 a = 1;"),
    "a text becomes repeated": _fields("string a = 1;", "repeated string a = 1;"),
    "a field becomes optional": _fields(_A, "optional int32 a = 1;"),
    "a removed field is reserved": _fields(_AB, "int32 a = 1; reserved 2;"),
    "a field joins a new oneof": _fields(_A, "oneof o { int32 a = 1; }"),
    "two fields join a new oneof": _fields(_AB, "oneof o { int32 a = 1; int32 b = 2; }"),
    "a oneof gets a field": _fields("oneof o { int32 a = 1; }", "oneof o { int32 a = 1; int32 b = 2; }"),
    "a field joins a oneof": _fields("oneof o { int32 a = 1; } int32 b = 2;", "oneof o { int32 a = 1; int32 b = 2; }"),
    "a message comes": _proto("message M { int32 a = 1; }", "message M { int32 a = 1; } message N { int32 a = 1; }"),
    "a message comes before": _proto(
        "message M { int32 a = 1; }", "message N { int32 a = 1; } message M { int32 a = 1; }"
    ),
    "a message is renamed": _proto("message M { int32 a = 1; }", "message N { int32 a = 1; }"),
    "a nested message gets a field": _fields(
        "message N { int32 x = 1; } N a = 1;", "message N { int32 x = 1; int32 y = 2; } N a = 1;"
    ),
    "a nested message changes a field": _fields(
        "message N { int32 x = 1; } N a = 1;", "message N { string x = 1; } N a = 1;"
    ),
    "a field becomes a message": _fields(_A, "message N { int32 x = 1; } N a = 1;"),
    "a field has another message": _proto(
        "message N { int32 x = 1; } message M { N a = 1; }",
        "message N { int32 x = 1; } message O { int32 x = 1; } message M { O a = 1; }",
    ),
    "a map becomes repeated messages": _fields(
        "map<string, int32> a = 1;", "message N { string key = 1; int32 value = 2; } repeated N a = 1;"
    ),
    "a map's values get wider": _fields("map<string, int32> a = 1;", "map<string, int64> a = 1;"),
    "the package changes": (
        'syntax = "proto3"; package p; message M { int32 a = 1; }',
        'syntax = "proto3"; package q; message M { int32 a = 1; }',
    ),
    "an optional field becomes required": _proto(
        "message M { optional int32 a = 1; }", "message M { required int32 a = 1; }", _PROTO2
    ),
    "a required field comes": _proto(
        "message M { optional int32 a = 1; }", "message M { optional int32 a = 1; required int32 b = 2; }", _PROTO2
    ),
    "a default changes": _proto(
        "message M { optional int32 a = 1 [default = 1]; }",
        "message M { optional int32 a = 1 [default = 2]; }",
        _PROTO2,
    ),
    "a service comes": _proto(
        "message M { int32 a = 1; }", "message M { int32 a = 1; } service S { rpc Ask(M) returns (M); }"
    ),
}

PAIRS: dict[str, Pairs] = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTOBUF}
