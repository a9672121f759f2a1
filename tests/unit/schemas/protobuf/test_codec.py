"""Values to bytes and back, and what fits no message."""

import pytest
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from ottla.schemas.errors import SchemaError, UnreadableData, UnwritableValue
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat, ProtobufSchema

ORDER = """syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
message Order {
  int64 id = 1; optional string note = 2; repeated Line lines = 3; map<string, double> prices = 4; State state = 5;
  bytes blob = 6; google.protobuf.Timestamp at = 7; google.protobuf.Struct more = 8; google.protobuf.Any any = 9;
  message Line { string item = 1; }
  oneof payment { string card = 10; bool cash = 11; }
}
enum State { OPEN = 0; PAID = 1; }
message Other { Other inner = 1; }
"""
EMPTY = {"id": "0", "lines": [], "prices": {}, "state": "OPEN", "blob": ""}


def parse(text: str) -> ProtobufSchema:
    return ProtobufFormat().parse(text, {})


SCHEMA = parse(ORDER)


def test_a_value_comes_back() -> None:
    value = {
        "id": "9007199254740993",
        "note": "",
        "lines": [{"item": "tea"}],
        "prices": {"eur": 1.5},
        "state": "PAID",
        "blob": "AP8=",
        "at": "2024-05-06T07:08:09Z",
        "more": {"a": [1.0, None, "x"]},
        "any": {"@type": "type.googleapis.com/shop.Order.Line", "item": "cup"},
        "cash": True,
    }
    assert SCHEMA.decoder()(SCHEMA.encoder()(value)) == value


def test_integers_may_be_numbers_and_names_as_in_json() -> None:
    assert SCHEMA.decoder()(SCHEMA.encoder()({"id": 5, "state": 1, "lines": [{}]})) == EMPTY | {
        "id": "5",
        "state": "PAID",
        "lines": [{"item": ""}],
    }
    camel = parse('syntax = "proto3"; message M { int32 two_words = 1; }')
    assert camel.decoder()(camel.encoder()({"twoWords": 1})) == camel.decoder()(camel.encoder()({"two_words": 1}))


def test_bytes_may_be_bytes() -> None:
    """protobuf alone would take them for base64, and write something else."""
    assert SCHEMA.decoder()(SCHEMA.encoder()({"blob": b"data"})) == EMPTY | {"blob": "ZGF0YQ=="}
    nested = parse('syntax = "proto3"; message M { repeated N n = 1; message N { map<int32, bytes> m = 1; } }')
    assert nested.decoder()(nested.encoder()({"n": ({"m": {1: memoryview(b"x")}},)})) == {"n": [{"m": {"1": "eA=="}}]}


def test_fields_without_presence_have_a_value_always() -> None:
    assert SCHEMA.decoder()(b"") == EMPTY
    assert SCHEMA.decoder()(b"\x28\x07") == EMPTY | {"state": 7}


def test_a_message_in_another_place_is_named_by_its_indexes() -> None:
    line = (0, 0)
    assert SCHEMA.message_at(line) == "shop.Order.Line"
    assert SCHEMA.indexes_of("shop.Order.Line") == line
    assert SCHEMA.decoder(message=line)(SCHEMA.encoder(line)({"item": "tea"})) == {"item": "tea"}
    assert SCHEMA.encoder((1,))({"inner": {}}) == b"\n\0"


@pytest.mark.parametrize("indexes", [(), (2,), (-1,), (0, 1), (0, 0, 0), (1, 0)])
def test_indexes_lead_to_a_message(indexes: tuple[int, ...]) -> None:
    with pytest.raises(SchemaError, match=r"no message at|no indexes"):
        SCHEMA.encoder(indexes)


@pytest.mark.parametrize(
    "name", ["", "Order", "shop", "shop.Gone", "shop.State", "shop.Order.Gone", "shop.Order.", "x.Order"]
)
def test_names_lead_to_indexes(name: str) -> None:
    with pytest.raises(SchemaError, match="declares no message"):
        SCHEMA.indexes_of(name)


def test_messages_of_the_right_type_are_written_as_they_are() -> None:
    described = SCHEMA._file_set.pool.FindMessageTypeByName("shop.Order")
    assert SCHEMA.encoder()(GetMessageClass(described)(id=3)) == b"\x08\x03"
    with pytest.raises(UnwritableValue, match=r"message is shop.Order, and the value is a google.protobuf.Timestamp"):
        SCHEMA.encoder()(Timestamp())


def deep(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"inner": value}
    return value


ENDLESS: dict[str, object] = {}
ENDLESS["more"] = ENDLESS


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "text",
        [],
        {"gone": 1},
        {1: 2},
        {"id": "x"},
        {"id": 2**63},
        {"id": 1.5},
        {"id": []},
        {"note": 5},
        {"note": "\udc80"},
        {"lines": {}},
        {"lines": [None]},
        {"lines": [5]},
        {"prices": []},
        {"prices": {"a": "x"}},
        {"state": "GONE"},
        {"blob": 5},
        {"at": "yesterday"},
        {"at": 5},
        {"more": ENDLESS},
        {"more": {"a": object()}},
        {"any": {"@type": "type.googleapis.com/gone.Gone"}},
        {"any": {"a": 1}},
        {"card": "x", "cash": True},
        {"more": deep(300)},
    ],
)
def test_what_does_not_fit_is_refused(value: object) -> None:
    with pytest.raises(UnwritableValue, match=r"shop\.Order"):
        SCHEMA.encoder()(value)


def test_values_have_a_depth() -> None:
    with pytest.raises(UnwritableValue, match=r"shop\.Other"):
        SCHEMA.encoder((1,))(deep(500))


@pytest.mark.parametrize(
    "data", [b"\xff", b"\x08", b"\x0a\x05ab", b"\x12\x01\xff", b"\x3a\x0a\x08" + b"\x80" * 8 + b"\x40"]
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableData, match=r"shop\.Order"):
        SCHEMA.decoder()(data)


def test_deep_data_are_refused() -> None:
    data = b""
    for _ in range(300):
        length = len(data)
        data = b"\n" + bytes((length & 127 | 128, length >> 7)) + data
    with pytest.raises(UnreadableData, match=r"shop\.Other"):
        SCHEMA.decoder(message=(1,))(data)


def test_required_fields_are_required_on_both_sides() -> None:
    schema = parse("message M { required int32 a = 1; }")
    with pytest.raises(UnwritableValue, match="a"):
        schema.encoder()({})
    with pytest.raises(UnreadableData, match="lacks required fields: a"):
        schema.decoder()(b"")


def test_a_reader_sees_its_own_fields() -> None:
    writer = parse('syntax = "proto3"; package p; message X {} message M { int32 a = 1; int32 gone = 2; }')
    reader = parse('syntax = "proto3"; package p; message M { int64 renamed = 1; string new = 3; }')
    data = writer.encoder((1,))({"a": 5, "gone": 6})
    assert writer.decoder(reader, (1,))(data) == {"renamed": "5", "new": ""}
    with pytest.raises(SchemaError, match=r"reader's schema has no message p\.X"):
        writer.decoder(reader)


def test_data_may_be_a_view() -> None:
    """As framing gives it."""
    assert SCHEMA.decoder(message=(0, 0))(memoryview(b"\n\x03tea")) == {"item": "tea"}  # type: ignore[arg-type]


def test_two_schemas_may_give_one_name_to_two_messages() -> None:
    first, second = parse("message M { optional int32 a = 1; }"), parse("message M { optional string a = 1; }")
    assert first.decoder()(first.encoder()({"a": 1})) == {"a": 1}
    assert second.decoder()(second.encoder()({"a": "x"})) == {"a": "x"}
