"""Both forms of a schema, what it imports, and what is refused."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.compiling import compile_file
from ottla.schemas.protobuf.descriptor_reader import MESSAGE_DEPTH_MAX
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat, ProtobufSchema
from ottla.schemas.protobuf.source_tokens import DEPTH_MAX

CUSTOMER = 'syntax = "proto3"; package shop; message Customer { string name = 1; map<string, int64> points = 2; }'
ORDER = """syntax = "proto3";
package shop;

import "shop/customer.proto";

message Order {
  Customer customer = 1;
}
"""


def parse(text: str, **references: str) -> ProtobufSchema:
    return ProtobufFormat().parse(text, references)


def serialized(text: str, references: dict[str, str] | None = None) -> str:
    return ProtobufFormat().parse(text, references or {}).formatted("serialized")


def encoded(descriptor: FileDescriptorProto) -> str:
    return base64.b64encode(descriptor.SerializeToString()).decode()


@pytest.mark.parametrize("customer", [CUSTOMER, serialized(CUSTOMER)])
def test_a_reference_is_read_in_either_form(customer: str) -> None:
    references = {"shop/customer.proto": customer}
    order = ProtobufFormat().parse(ORDER, references)
    assert order.canonical == ORDER
    again = ProtobufFormat().parse(order.formatted("serialized"), references)
    assert again.canonical == ORDER.replace(" Customer customer", " .shop.Customer customer")
    assert again.normalised() == order.normalised()
    value = {"customer": {"name": "Ada", "points": {"may": "7"}}}
    assert again.decoder()(order.encoder()(value)) == value


def test_a_descriptor_shows_the_messages_of_its_maps() -> None:
    """As in Confluent's registry, so that messages within messages have the indexes that clients write."""
    text = 'syntax = "proto3"; message M { message A {} map<string, A> m = 1; message B {} }'
    schema = parse(serialized(text))
    assert (
        schema.canonical
        == """syntax = "proto3";

message M {
  repeated .M.MEntry m = 1;

  message A {}
  message MEntry {
    option map_entry = true;
  ~
    string key = 1;
    .M.A value = 2;
  }
  message B {}
}
""".replace("~", "")
    )
    again = parse(schema.canonical)
    assert again.canonical == schema.canonical
    assert again.formatted("serialized") == schema.formatted("serialized")
    assert again.indexes_of("M.B") == (0, 2)
    assert parse(text).indexes_of("M.B") == (0, 1)
    assert again.normalised() == parse(text).normalised()
    assert again.compare(parse(text)) == parse(text).compare(again) == []


def test_options_of_a_descriptor_are_written() -> None:
    text = """syntax = "proto3";
package a;

import "confluent/meta.proto";

option java_package = "j";
option optimize_for = SPEED;

message M {
  option (confluent.message_meta) = {
    doc: "d",
    params: [
      {
        key: "a",
        value: "1"
      },
      {
        value: "2",
        key: "scale"
      }
    ],
    tags: [
      "PII"
    ]
  };

  repeated int32 n = 1 [packed = false];
  optional string o = 2;
}
"""
    assert parse(serialized(text)).canonical == text


def test_defaults_groups_and_editions_of_a_descriptor_are_written() -> None:
    text = """
message M {
  reserved 7 to 9;
  reserved "gone";

  optional bytes b = 1 [default = "\\377\\"\\000"];
  optional string s = 2 [default = "\\"é"];
  required E e = 3 [default = TWO];

  oneof o {
    int32 i = 4;
  }

  repeated group Gr = 5 {
    optional int32 x = 1;
  }

  extensions 100 to max;
}
enum E {
  reserved -5 to -1;
  reserved "OLD";
  ONE = 1;
  TWO = 2;
}

extend .M {
  optional int32 more = 100;
}
"""
    assert parse(serialized(text)).canonical == text.replace("required E", "required .E")
    edition = 'edition = "2023";\n\nmessage M {\n  reserved a;\n\n  int32 i = 1 [features = {\n'
    descriptor = serialized(
        'edition = "2023"; message M { reserved a; int32 i = 1 [features.field_presence = IMPLICIT]; }'
    )
    assert parse(descriptor).canonical.startswith(edition)
    assert parse(parse(descriptor).canonical).formatted("serialized") == descriptor


BUILT_IN = [
    "google/protobuf/any",
    "google/protobuf/struct",
    "google/protobuf/wrappers",
    "google/type/calendar_period",
    "google/type/color",
    "google/type/date",
    "google/type/datetime",
    "google/type/dayofweek",
    "google/type/decimal",
    "google/type/expr",
    "google/type/fraction",
    "google/type/interval",
    "google/type/latlng",
    "google/type/localized_text",
    "google/type/money",
    "google/type/month",
    "google/type/phone_number",
    "google/type/postal_address",
    "google/type/quaternion",
    "google/type/timeofday",
    "confluent/meta",
    "confluent/type/decimal",
    "confluent/type/variant",
    "confluent/types/decimal",
]


def test_well_known_files_need_no_reference() -> None:
    imports = "".join(f'import "{name}.proto"; ' for name in BUILT_IN)
    parse(f"{imports} message M {{ optional google.type.Money m = 1; optional confluent.type.Decimal d = 2; }}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "line 1, column 1: Expected top-level statement"),
        ('{"type": "record"}', "line 1, column 1"),
        ("message M {\n  optional Missing m = 1;\n}", 'line 2, column 12: "Missing" is not defined'),
        (
            'syntax = "proto3";\nmessage M { int32 a = 1; int32 b = 1; }',
            "line 2, column 36: Field number 1 has already",
        ),
        ('syntax = "proto3"; import "gone.proto";', "gone.proto: File not found"),
        ('import "../../etc/passwd";', "not allowed in the virtual path"),
        ('import "/etc/passwd";', "File not found"),
        ('import "default";', "imports itself"),
        ("message M { " * 40 + "}" * 40, "recursion limit"),
        ("{" * 100_000, f"line 1: brackets are nested more than {DEPTH_MAX} deep"),
        ("}" * 1000 + "\n[" * 1000, "brackets are nested"),
        ("{]" * 1000, "brackets are nested"),
        ("message M { message N { option map_entry = true; } }", "N has the option map_entry"),
        ("message M { message N { option map_entry = true;", "line 1, column 49: Reached end of input"),
        ('option java_package = "\udc80";', "character 24 is half of a surrogate pair"),
        ("message M {}\0", "Invalid control characters"),
        ("message M { optional int32 a = 99999999999999999999; }", "line 1, column 32"),
        ('syntax = "proto9";', "Unrecognized syntax"),
        ("".join(f"message M{number} {{}}\n" for number in range(40_000)), "split it into files"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message.replace("[", r"\[")):
        parse(text)


@pytest.mark.parametrize(
    "name", ["../up", "/root", "a//b", "a/./b", "a/..", "", ".", "a\\b", "a\nb", "x" * 300, "a/", '"']
)
def test_a_reference_is_named_by_a_path_below_the_schema(name: str) -> None:
    with pytest.raises(InvalidSchema, match="a reference is named"):
        ProtobufFormat().parse("message M {}", {name: "message R {}"})


def test_references_that_do_not_fit_are_named() -> None:
    with pytest.raises(InvalidSchema, match="file and of a directory at once"):
        ProtobufFormat().parse("message M {}", {"a": "", "a/b": ""})
    with pytest.raises(InvalidSchema, match='r: line 1, column 31: "X" is not defined'):
        ProtobufFormat().parse('import "r"; message M {}', {"r": "message R {" + " " * 10 + "optional X x = 1; }"})
    with pytest.raises(InvalidSchema, match=r"the reference r: .*not valid"):
        broken = FileDescriptorProto(name="r")
        broken.message_type.add(name="M").field.add(name="f", number=1, type=11, label=1, type_name=".Missing")
        ProtobufFormat().parse('import "r"; message M {}', {"r": encoded(broken)})
    # Its own file gets another name then.
    assert ProtobufFormat().parse('import "default"; message M { optional R r = 1; }', {"default": "message R {}"}).name


def test_descriptors_that_no_text_gives_are_refused() -> None:
    deep = FileDescriptorProto()
    message = deep.message_type.add(name="M")
    for _ in range(MESSAGE_DEPTH_MAX):
        message = message.nested_type.add(name="M")
    with pytest.raises(InvalidSchema, match=f"more than {MESSAGE_DEPTH_MAX} deep"):
        parse(encoded(deep))
    with pytest.raises(InvalidSchema, match="not UTF-8"):
        parse(base64.b64encode(b"\x12\x01\xff").decode())
    with pytest.raises(InvalidSchema):
        parse(encoded(FileDescriptorProto(message_type=[{"name": "M {} message"}])))
    with pytest.raises(InvalidSchema, match="File not found"):
        parse(encoded(FileDescriptorProto(dependency=["gone.proto"])))


def test_names_that_differ_in_capitals_alone_are_no_fault() -> None:
    """protoc warns of them, and a process may turn warnings into errors."""
    assert parse("message M { reserved 'no name'; }").name == "M"


def test_threads_compile_side_by_side() -> None:
    def compiled(number: int) -> str:
        return compile_file(f"message M{number} {{ optional M{number} m = 1; }}", {})[-1].message_type[0].name

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(compiled, range(64))) == [f"M{number}" for number in range(64)]
