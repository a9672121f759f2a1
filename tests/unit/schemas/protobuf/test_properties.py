"""What holds for every schema: its stored text means the same, its normalised text is its own, and what is judged
compatible reads."""

import base64

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.schemas.protobuf.protobuf_format import ProtobufFormat, ProtobufSchema

SCALARS = [
    "int32",
    "int64",
    "uint32",
    "sint64",
    "bool",
    "fixed32",
    "sfixed64",
    "float",
    "double",
    "string",
    "E",
    "Other.F",
]
VALUES = {"bool": True, "string": "text", "E": "B", "Other.F": "Y", "float": 1.5, "double": -2.5}
NUMBERS = st.integers(1, 9)
PREFIX = """
enum E { A = 0; B = 1; }
message Other { int32 x = 1; repeated Other others = 2; enum F { X = 0; Y = 1; } }
"""


@st.composite
def fields(draw: st.DrawFn) -> dict[int, tuple[str, str]]:
    """The kind and the type of each field by number."""
    types = st.sampled_from([*SCALARS, "Other"])
    kinds = st.sampled_from(["", "optional", "repeated", "map", "one"])
    return draw(st.dictionaries(NUMBERS, st.tuples(kinds, types), max_size=6))


def declared(number: int, kind: str, name: str) -> str:
    if kind == "map":
        return f"map<string, {name}> f{number} = {number}; "
    label = kind if kind in ("optional", "repeated") else ""
    return f"{label} {name} f{number} = {number}; "


def source(members: dict[int, tuple[str, str]], options: str = "") -> str:
    alone = "".join(declared(number, *member) for number, member in members.items() if member[0] != "one")
    chosen = "".join(declared(number, *member) for number, member in members.items() if member[0] == "one")
    one_of = f"oneof chosen {{ {chosen} }}" if chosen else ""
    return f'syntax = "proto3"; package p; {options} message M {{ {one_of} {alone} }} {PREFIX}'


def parse(text: str) -> ProtobufSchema:
    return ProtobufFormat().parse(text, {})


def meaning(schema: ProtobufSchema) -> FileDescriptorProto:
    """A descriptor without what a text may change: the order of fields, and of messages for entries of maps."""
    descriptor = FileDescriptorProto.FromString(base64.b64decode(schema.formatted("serialized")))
    for message in descriptor.message_type:
        sort_members(message)
    return descriptor


def sort_members(message: DescriptorProto) -> None:
    names = [one_of.name for one_of in message.oneof_decl]
    by_number = sorted(message.field, key=lambda field: field.number)
    by_name = sorted(message.nested_type, key=lambda nested: nested.name)
    one_ofs = sorted(message.oneof_decl, key=lambda one_of: one_of.name)
    order = [one_of.name for one_of in one_ofs]
    copy = DescriptorProto(field=by_number, nested_type=by_name, oneof_decl=one_ofs)
    for field in copy.field:
        if field.HasField("oneof_index"):
            field.oneof_index = order.index(names[field.oneof_index])
    for part in ("field", "nested_type", "oneof_decl"):
        message.ClearField(part)
    message.MergeFrom(copy)


def value_of(members: dict[int, tuple[str, str]]) -> dict[str, object]:
    """A value that sets every field, and the last of a oneof."""
    value: dict[str, object] = {}
    last = max((number for number, member in members.items() if member[0] == "one"), default=None)
    for number, (kind, name) in members.items():
        one: object = {"x": 7, "others": [{}]} if name == "Other" else VALUES.get(name, 7)
        if kind != "one" or number == last:
            value[f"f{number}"] = [one, one] if kind == "repeated" else {"k": one} if kind == "map" else one
    return value


@settings(max_examples=60)
@given(fields(), st.text(max_size=8))
def test_the_stored_text_means_the_same(members: dict[int, tuple[str, str]], text: str) -> None:
    escaped = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "ignore"))
    schema = parse(source(members, f'option java_package = "{escaped}";'))
    stored = parse(schema.canonical)
    assert stored.canonical == schema.canonical
    assert meaning(stored) == meaning(schema)
    assert stored.compare(schema) == schema.compare(stored) == []


@settings(max_examples=60)
@given(fields())
def test_both_forms_of_a_schema_are_one(members: dict[int, tuple[str, str]]) -> None:
    schema = parse(source(members))
    from_descriptor = parse(schema.formatted("serialized"))
    again = parse(from_descriptor.canonical)
    assert again.canonical == from_descriptor.canonical
    assert meaning(again) == meaning(schema)
    assert again.normalised() == schema.normalised()
    assert parse(schema.normalised()).normalised() == schema.normalised()


@settings(max_examples=60)
@given(fields(), st.randoms(use_true_random=False))
def test_the_order_of_fields_has_no_meaning(members: dict[int, tuple[str, str]], random: object) -> None:
    numbers = list(members)
    random.shuffle(numbers)  # type: ignore[attr-defined]
    shuffled = {number: members[number] for number in numbers}
    assert parse(source(shuffled)).normalised() == parse(source(members)).normalised()


@settings(max_examples=150)
@given(fields(), fields())
def test_what_is_judged_compatible_reads(
    written: dict[int, tuple[str, str]], changed: dict[int, tuple[str, str]]
) -> None:
    writer = parse(source(written))
    reader = parse(source(written | changed))
    data = writer.encoder()(value_of(written))
    as_written = writer.decoder()(data)
    assert writer.decoder(reader=writer)(data) == as_written
    assert writer.compare(writer) == []
    if not reader.compare(writer):
        as_read = writer.decoder(reader)(data)
        assert isinstance(as_written, dict) and isinstance(as_read, dict)
        for number, member in written.items():
            if changed.get(number, member) == member and member[0] != "one":
                assert as_read.get(f"f{number}") == as_written.get(f"f{number}")
