"""A schema as the registry sees it."""

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from ottla.schemas.format import ParsedSchema, SchemaFormat, format_of
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat
from ottla.schemas.schema import SchemaType

CUSTOM = """syntax = "proto2";

import "google/protobuf/descriptor.proto";
import "confluent/meta.proto";

option (file_tag) = "f";
option java_package = "j";

message M {
  option (confluent.message_meta) = {
    doc: "stays"
  };

  optional int32 a = 1 [
    (tag) = "t",
    deprecated = true
  ];

  oneof o {
    string s = 2 [(tag) = "t"];
  }

  optional group G = 3 [(tag) = "t"] {}

  extensions 100 to 200;

  extend M {
    optional int32 e = 100;
  }
}
enum E {
  A = 0;
}

extend google.protobuf.FieldOptions {
  optional string tag = 50000;
}
extend google.protobuf.FileOptions {
  optional string file_tag = 50000;
}

service S {
  rpc Do (M) returns (M) {
    option deprecated = true;
  };
}
"""


def test_it_is_found_by_its_type() -> None:
    found: SchemaFormat = format_of(SchemaType.PROTOBUF)
    schema: ParsedSchema = found.parse("message M {}", {}, is_new=False)
    assert schema.canonical == "\nmessage M {}\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("enum E { A = 0; } message M {} message N {}", "M"),
        ("package a.b; message M { message N {} }", "a.b.M"),
        ("package a; enum E { A = 0; }", "a.E"),
        ("package a;", None),
        ("", None),
    ],
)
def test_a_schema_is_named_after_its_first_message(text: str, name: str | None) -> None:
    assert ProtobufFormat().parse(text, {}).name == name


def test_the_canonical_text_is_its_own() -> None:
    assert ProtobufFormat().parse(CUSTOM, {}).canonical == CUSTOM


def test_a_text_can_do_without_extensions() -> None:
    schema = ProtobufFormat().parse(CUSTOM, {})
    plain = schema.formatted("ignore_extensions")
    assert "tag" not in plain
    assert "extend" not in plain
    assert "extensions" not in plain
    assert "stays" in plain
    assert "deprecated = true" in plain
    assert ProtobufFormat().parse(plain, {}).compare(schema) == []


def test_the_serialised_form_is_a_descriptor() -> None:
    schema = ProtobufFormat().parse("package a; message M { optional int32 a = 1; }", {})
    descriptor = FileDescriptorProto.FromString(base64.b64decode(schema.formatted("serialized")))
    assert descriptor.name == "default"
    assert [message.name for message in descriptor.message_type] == ["M"]


def test_a_form_that_is_not_known_is_the_canonical_one() -> None:
    schema = ProtobufFormat().parse(CUSTOM, {})
    assert schema.formatted("") == schema.formatted("resolved") == schema.canonical
