import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.avro.plain_json.decoding import make_json_decoder
from ottla.schemas.avro.plain_json.encoding import make_json_encoder
from ottla.schemas.errors import UnreadableData
from unit.schemas.avro.plain_json.avro_data import schemas_and_data
from unit.schemas.avro.schemas import field, parse, record


@given(schemas_and_data())
def test_data_become_json_and_the_same_data_again(case: tuple[str, bytes]) -> None:
    schema, data = case
    document = parse(schema).document
    text = json.dumps(make_json_decoder(document)(data), allow_nan=False)
    again = make_json_encoder(document)(json.loads(text))
    # A NaN has a payload, which JSON cannot tell.
    assert again == data or "NaN" in text


@given(schemas_and_data(), st.binary(max_size=20))
def test_any_bytes_are_json_or_unreadable(case: tuple[str, bytes], data: bytes) -> None:
    decode = make_json_decoder(parse(case[0]).document)
    with contextlib.suppress(UnreadableData):
        json.dumps(decode(data), allow_nan=False)


def test_blocks_may_tell_their_size_and_follow_each_other() -> None:
    decode = make_json_decoder(parse({"type": "array", "items": "int"}).document)
    assert decode(b"\x01\x02\x02\x02\x04\x00") == [1, 2]


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ('"int"', b"\xff\xff\xff\xff\xff\x01", "out of range"),
        ('"int"', b"\x80", "end within a number"),
        ('"string"', b"\x02\xff", "utf-8"),
        ('"string"', b"\x09", "-5 bytes are due"),
        ('"boolean"', b"\x02", "do not fit"),
        ('"null"', b"\x00", "1 bytes are left"),
        (["null"], b"\x02", "none of 1 choices"),
        ({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\xff\x01\x00", "take no bytes"),
        (record(field("a", record(field("b", "int"), name="In"))), b"", "/a/b"),
    ],
)
def test_data_that_do_not_fit_are_named(schema: Any, data: bytes, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        make_json_decoder(parse(schema).document)(data)


def test_data_that_are_too_deep_are_refused() -> None:
    document = parse(record(field("again", ["null", "R"]))).document
    with pytest.raises(UnreadableData, match="deep"):
        make_json_decoder(document)(b"\x02" * 1000 + b"\x00")
