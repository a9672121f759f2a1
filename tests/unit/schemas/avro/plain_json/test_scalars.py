from typing import Any

import pytest

from ottla.schemas.avro.model import Enum, Fixed, Primitive
from ottla.schemas.avro.plain_json.scalars import Misfit, Scalar, scalar_of
from unit.schemas.avro.schemas import parse


def scalar(schema: Any) -> Scalar:
    document = parse(schema).document
    one = document.resolve(document.root)
    assert isinstance(one, Primitive | Fixed | Enum)
    return scalar_of(one)


def decimal(precision: int, scale: int, size: int | None = None) -> Scalar:
    words = {"logicalType": "decimal", "precision": precision, "scale": scale}
    return scalar({"type": "bytes", **words} if size is None else {"type": "fixed", "name": "D", "size": size, **words})


@pytest.mark.parametrize(
    ("schema", "plain", "shown"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("long", -(2**63), -(2**63)),
        ("double", 0.5, 0.5),
        ("float", float("-inf"), "-Infinity"),
        ("bytes", b"a\x00\xff", "a\x00ÿ"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", "ab"),
        ({"type": "int", "logicalType": "date"}, 19_884, "2024-06-10"),
        ({"type": "int", "logicalType": "time-millis"}, 1, "00:00:00.001"),
        ({"type": "long", "logicalType": "time-micros"}, 1, "00:00:00.000001"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 0, "1970-01-01T00:00:00.000Z"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 1, "1970-01-01T00:00:00.000000001Z"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, 0, "1970-01-01T00:00:00.000000"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 2**62, 2**62),
        (
            {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
            bytes(16),
            f"{'0' * 8}{'-0000' * 4}{'0' * 8}",
        ),
        ({"type": "string", "logicalType": "uuid"}, "F81D4FAE", "F81D4FAE"),
    ],
)
def test_a_plain_value_is_shown_and_read_again(schema: Any, plain: Any, shown: Any) -> None:
    one = scalar(schema if isinstance(schema, dict) else f'"{schema}"')
    assert one.show(plain) == shown
    assert one.read(shown) == plain


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        (b"\x04\xe2", "12.50"),
        (b"\xff", "-0.01"),
        (b"\x00", "0.00"),
        # More bytes than the number needs, none at all, and more digits than the type has.
        (b"\x00\x01", {"bytes": "\x00\x01"}),
        (b"", {"bytes": ""}),
        (b"\x7f\xff\xff", {"bytes": "\x7fÿÿ"}),
        (b"\x01" * 10_000, {"bytes": "\x01" * 10_000}),
    ],
)
def test_a_decimal_has_its_scale_in_digits_or_is_shown_as_bytes(plain: bytes, shown: Any) -> None:
    one = decimal(4, 2)
    assert one.show(plain) == shown
    assert one.read(shown) == plain


def test_a_decimal_may_be_written_as_a_number() -> None:
    assert [decimal(4, 2).read(value) for value in (1, 1.5, "1", "1.500")] == [
        b"\x64",
        b"\x00\x96",
        b"\x64",
        b"\x00\x96",
    ]
    assert decimal(4, 2, size=4).read("-1") == b"\xff\xff\xff\x9c"
    assert decimal(9, 0).read("12") == b"\x0c"


def test_a_scale_beyond_reason_costs_nothing() -> None:
    assert decimal(2**31 - 1, 2**31 - 1).show(b"\x01") == "\x01"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ('"int"', 2**31),
        ('"int"', True),
        ('"int"', 1.0),
        ('"float"', 1e39),
        ('"double"', 10**400),
        ('"double"', "nan"),
        ('"string"', 1),
        ('"bytes"', "Ā"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"),
        ({"type": "int", "logicalType": "date"}, "10.6.2024"),
        ({"type": "int", "logicalType": "date"}, None),
        ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "x"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "12,5"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "1.234"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "100.00"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, float("nan")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, 10**2000),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, {"bytes": 1}),
    ],
)
def test_what_does_not_fit_is_refused_and_means_no_such_branch(schema: Any, value: Any) -> None:
    one = scalar(schema)
    with pytest.raises(Misfit, match="is not"):
        one.read(value)
    assert not one.weigh(value)
