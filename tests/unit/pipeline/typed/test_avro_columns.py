"""Records that are decoded all at once have the values that the decoder of single records gives, or are left to it."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ottla.pipeline.typed.avro_columns import BatchColumns, batch_columns
from ottla.pipeline.typed.avro_kinds import avro_kind
from ottla.pipeline.typed.column_kinds import arrow_type_of
from ottla.pipeline.typed.framed_batch import NO_ID, find_ids
from ottla.schemas.avro.avro_format import AvroFormat, AvroSchema
from ottla.schemas.errors import SchemaError

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def some_long(chance: random.Random) -> int:
    return chance.randrange(-(1 << chance.randrange(1, 64)), 1 << chance.randrange(0, 63))


def some_text(chance: random.Random) -> str:
    return "".join(chance.choice("až€😀") for _ in range(chance.randrange(9)))


# A field's type, and values of it.
FIELDS: dict[str, tuple[Any, Any]] = {
    "long": ("long", some_long),
    "int": ("int", lambda chance: some_long(chance) >> 33),
    "text": ("string", some_text),
    "bytes": ("bytes", lambda chance: chance.randbytes(chance.randrange(200))),
    "flag": ("boolean", lambda chance: chance.random() < 0.5),
    "float": ("float", lambda chance: float(chance.randrange(1000)) / 8),
    "double": ("double", lambda chance: chance.gauss(0, 1e9)),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}, lambda chance: chance.choice("ABC")),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, lambda chance: chance.randbytes(3)),
    "date": ({"type": "int", "logicalType": "date"}, lambda chance: NOW.date() + timedelta(chance.randrange(9999))),
    "millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        lambda chance: NOW - timedelta(milliseconds=chance.randrange(10**13)),
    ),
    "local": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        lambda chance: (NOW - timedelta(microseconds=chance.randrange(10**15))).replace(tzinfo=None),
    ),
    "time": (
        {"type": "int", "logicalType": "time-millis"},
        lambda chance: (NOW + timedelta(seconds=chance.randrange(9999))).time(),
    ),
    "perhaps": (["null", "string"], lambda chance: chance.choice([None, some_text(chance)])),
    "inner": (
        ["null", {"type": "record", "name": "I", "fields": [{"name": "x", "type": ["long", "null"]}]}],
        lambda chance: chance.choice([None, {"x": None}, {"x": some_long(chance)}]),
    ),
}


def parse(schema: Any) -> AvroSchema:
    return AvroFormat().parse(json.dumps(schema), {})


def columns_of(schema: AvroSchema) -> BatchColumns | None:
    return batch_columns(schema.document, arrow_type_of(avro_kind(schema).spark_type))


def check_same(schema: AvroSchema, records: list[bytes]) -> int:
    """How many were read at once."""
    columns = columns_of(schema)
    assert columns is not None
    batch = find_ids(pa.array([b"\0\0\0\0\x07" + record for record in records], pa.binary()))
    values, is_odd = columns.read(batch.data, batch.at, batch.end)
    values.validate(full=True)
    decode, kind = schema.decoder(), avro_kind(schema)
    for number, record in enumerate(records):
        if not is_odd[number]:
            # As texts: no NaN is equal to another.
            assert repr(values[number]) == repr(kind.column([decode(record)])[0])
    return int((~is_odd).sum())


SCHEMA = {"type": "record", "name": "R", "fields": [{"name": name, "type": one} for name, (one, _) in FIELDS.items()]}


def some_records(chance: random.Random, schema: AvroSchema, count: int) -> list[bytes]:
    encode = schema.encoder()
    return [encode({name: make(chance) for name, (_, make) in FIELDS.items()}) for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_records_have_the_values_of_the_single_decoder(seed: int) -> None:
    schema = parse(SCHEMA)
    assert check_same(schema, some_records(random.Random(seed), schema, 200)) == 200


@pytest.mark.parametrize("seed", range(20))
def test_damaged_records_are_read_as_the_single_decoder_reads_them_or_left_to_it(seed: int) -> None:
    """Texts are left out: one that is not UTF-8 sends back the whole batch."""
    fields = [one for one in SCHEMA["fields"] if one["name"] not in ("text", "perhaps")]
    schema = parse({"type": "record", "name": "R", "fields": fields})
    chance = random.Random(seed)
    records = [bytearray(record) for record in some_records(chance, schema, 100)]
    for record in records:
        for _ in range(chance.randrange(3)):
            record[chance.randrange(len(record))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        if chance.random() < 0.3:
            del record[chance.randrange(len(record)) :]
        if chance.random() < 0.1:
            record.extend(b"more")
    given = [bytes(record) for record in records]
    readable = sum(is_readable(schema, record) for record in given)
    assert 0 < check_same(schema, given) <= readable


def is_readable(schema: AvroSchema, record: bytes) -> bool:
    try:
        avro_kind(schema).column([schema.decoder()(record)])
    except (SchemaError, pa.ArrowException):
        return False
    return True


LONG_ENDS = [1 << 62, (1 << 63) - 1, -(1 << 63), 0, -1]


def test_the_longest_numbers_are_read() -> None:
    schema = parse("long")
    assert check_same(schema, [schema.encoder()(number) for number in LONG_ENDS]) == len(LONG_ENDS)


@pytest.mark.parametrize("data", [b"\xff" * 9 + b"\x02", b"\xff" * 10, b"\xff" * 11, b"\x80", b""])
def test_numbers_that_are_too_long_are_left_to_the_single_decoder(data: bytes) -> None:
    assert check_same(parse("long"), [data, b"\x02"]) == 1


def test_a_text_that_is_not_utf8_sends_back_the_batch() -> None:
    with pytest.raises(pa.ArrowInvalid):
        check_same(parse("string"), [b"\x02\xff"])


def test_a_length_that_is_a_lie_costs_nothing() -> None:
    assert check_same(parse("bytes"), [b"\xfe\xff\xff\xff\x0f", b"\x02x", b"\x01"]) == 1
    assert check_same(parse({"type": "fixed", "name": "F", "size": 1 << 30}), [b"x"]) == 0


LEFT = [
    {"type": "array", "items": "int"},
    {"type": "map", "values": "int"},
    ["int", "string"],
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 4},
    {"type": "record", "name": "Empty", "fields": []},
]


@pytest.mark.parametrize("schema", LEFT, ids=str)
def test_other_types_are_left_to_the_single_decoder(schema: Any) -> None:
    assert columns_of(parse(schema)) is None


def test_ids_are_found_in_front_of_records() -> None:
    """In a slice of an array, too."""
    whole = pa.array([b"before", b"\0\0\1\0\2x", b"\0\0\0\0", None, b"\1\0\0\0\1", b"\0\xff\xff\xff\xff"], pa.binary())
    batch = find_ids(whole.slice(1))
    assert batch.ids.tolist() == [0x10002, NO_ID, NO_ID, NO_ID, 0xFFFFFFFF]
    assert bytes(batch.data[batch.at[0] : batch.end[0]]) == b"x"
    assert np.array_equal(find_ids(pa.array([], pa.binary())).ids, [])
