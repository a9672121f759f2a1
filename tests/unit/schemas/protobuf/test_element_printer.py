"""The text that Confluent's registry stores: its layout, and what it keeps of the source."""

import pytest

from ottla.schemas.protobuf.element_printer import print_file
from ottla.schemas.protobuf.element_reader import read_elements

ALL_PARTS = """
// A comment goes.
syntax = "proto3"; package a.b;
enum Outer { ZERO = 0; }
import public "y.proto"; import "x.proto";
option java_package = 'it\\'s';
message M {
  enum E { option allow_alias = true; A = 0; B = 0 [deprecated = true]; reserved 5 to max, 3; }
  message N {}
  string s = 3 [json_name = "S", deprecated = true]; /* so does this one */
  map < string,N > m=4;
  oneof o { option (x) = 1; int32 i = 0x5; N n = 6; }
  option deprecated = true;
  reserved 10, 20 to 30, 536870910 to max; reserved "old";
  repeated .a.b.M.N ns = 7;
}
service S { option deprecated = true; rpc Do (M) returns (stream M.N) { option idempotency_level = IDEMPOTENT; }
  rpc Go(stream M) returns (M); }
extend google.protobuf.FieldOptions { optional string tag = 50000; }
"""
# The empty lines within a block are indented like all others: Confluent's are.
STORED = """syntax = "proto3";
package a.b;

import "x.proto";
import public "y.proto";

option java_package = "it\\'s";

message M {
  reserved 10, 20 to 30, 536870910 to max;
  reserved "old";

  option deprecated = true;

  string s = 3 [
    deprecated = true,
    json_name = "S"
  ];
  map<string, N> m = 4;
  repeated .a.b.M.N ns = 7;

  oneof o {
    option (x) = 1;
  ~
    int32 i = 5;
    N n = 6;
  }

  message N {}
  enum E {
    reserved 5 to max, 3;
    option allow_alias = true;
    A = 0;
    B = 0 [deprecated = true];
  }
}
enum Outer {
  ZERO = 0;
}

extend google.protobuf.FieldOptions {
  optional string tag = 50000;
}

service S {
  option deprecated = true;

  rpc Do (M) returns (stream M.N) {
    option idempotency_level = IDEMPOTENT;
  };
  rpc Go (stream M) returns (M);
}
""".replace("~", "")


def test_a_file_is_laid_out_as_confluent_does() -> None:
    assert print_file(read_elements(ALL_PARTS)) == STORED
    assert print_file(read_elements(STORED)) == STORED


@pytest.mark.parametrize(
    ("source", "stored"),
    [
        ("message M{}", "\nmessage M {}\n"),
        ('edition = "2023"; message M { reserved a, b; }', 'edition = "2023";\n\nmessage M {\n  reserved a, b;\n}\n'),
        ("export message M{}", "\nexport message M {}\n"),
        ('import weak "a";', '\nimport weak "a";\n'),
        (
            "message M { extensions 4, 100 to max [verification = UNVERIFIED]; extend M { optional int32 x = 4; } }",
            "\nmessage M {\n  extensions 4, 100 to max [verification = UNVERIFIED];\n\n"
            "  extend M {\n    optional int32 x = 4;\n  }\n}\n",
        ),
        (
            "message M { optional group G = 1 [deprecated = true] { required int32 x=1; } oneof o { group H = 2 {} } }",
            "\nmessage M {\n  oneof o {\n    group H = 2 {}\n  }\n\n"
            "  optional group G = 1 [deprecated = true] {\n    required int32 x = 1;\n  }\n}\n",
        ),
        (
            "message M { optional bytes b = 1 [default = '\\xff\\n' \"a\"]; optional double d = 2 [default = - inf]; }",
            '\nmessage M {\n  optional bytes b = 1 [default = "\\377\\na"];\n'
            "  optional double d = 2 [default = -inf];\n}\n",
        ),
    ],
)
def test_rare_declarations(source: str, stored: str) -> None:
    assert print_file(read_elements(source)) == stored
    assert print_file(read_elements(stored)) == stored


def test_aggregates_have_a_line_for_each_value() -> None:
    source = "option (a.b).c = { x: 1 y < z: 'q' > l: [1, -2] [e.f] { } x: 2; e: E, n {} };"
    stored = """
option (a.b).c = {
  x: [
    1,
    2
  ],
  y: {
    z: "q"
  },
  l: [
    1,
    -2
  ],
  [e.f]: {
  },
  e: E,
  n: {
  }
};
"""
    assert print_file(read_elements(source)) == stored
    assert print_file(read_elements(stored)) == stored


def test_words_of_the_language_are_names_too() -> None:
    source = """
message message {
  optional int32 message = 1;
  optional stream stream = 2;
  optional reserved extend = 3;
  optional group.map map = 4;
  map<string, stream> oneof = 5;
}
enum enum {
  option = 0;
  reserved = 1;
}

service service {
  rpc rpc (stream) returns (stream stream.rpc);
}
"""
    assert print_file(read_elements(source)) == source
