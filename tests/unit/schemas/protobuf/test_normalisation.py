"""Texts that mean the same have one normalised text."""

import pytest

from ottla.schemas.protobuf.option_normalisation import normalise_number
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat

OPTIONS = """
message Note { optional string text = 1; repeated int32 n = 2; optional Note inner = 3; repeated Note notes = 4;
  extensions 100 to 200; }
extend Note { optional Note more = 100; }
extend google.protobuf.MessageOptions { optional Note note = 50000; repeated string tag = 50001; }
"""


def normalised(text: str) -> str:
    schema = ProtobufFormat().parse(text, {})
    result = schema.normalised()
    assert ProtobufFormat().parse(result, {}).normalised() == result
    return result


def test_what_has_no_meaning_is_sorted_and_named_in_full() -> None:
    text = """
      syntax = "proto3"; package a.b;
      import "google/protobuf/timestamp.proto"; import "google/protobuf/any.proto";
      option java_package = "j"; option deprecated = true;
      message M {
        reserved "z", "a"; reserved 30 to 31, 20;
        N n = 2 [json_name = "x", deprecated = true]; b.M m = 1; map<string, N> ns = 9;
        oneof second { int32 q = 8; N p = 7; }  oneof first { google.protobuf.Any f = 5; }
        message N {} enum E { A = 0; C = 2; B = 1; }
      }
      service S { rpc Go (M) returns (M.N); }
    """
    assert (
        normalised(text)
        == """syntax = "proto3";
package a.b;

import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";

option deprecated = true;
option java_package = "j";

message M {
  reserved 20;
  reserved 30 to 31;
  reserved "a";
  reserved "z";

  .a.b.M m = 1;
  .a.b.M.N n = 2 [
    deprecated = true,
    json_name = "x"
  ];
  map<string, .a.b.M.N> ns = 9;

  oneof first {
    .google.protobuf.Any f = 5;
  }
  oneof second {
    .a.b.M.N p = 7;
    int32 q = 8;
  }

  message N {}
  enum E {
    A = 0;
    B = 1;
    C = 2;
  }
}

service S {
  rpc Go (.a.b.M) returns (.a.b.M.N);
}
"""
    )


def test_proto2_is_what_a_text_without_a_syntax_means() -> None:
    assert normalised('syntax = "proto2"; message M {}') == normalised("message M {}")


def test_extensions_are_gathered_by_what_they_extend() -> None:
    text = """package a; message M { extensions 10 to 20, 5; } message N { extensions 1 to max; }
    extend M { optional int32 y = 12; } extend a.N { optional group Gr = 3 {} } extend a.M { optional M x = 11; }"""
    assert (
        normalised(text)
        == """package a;

message M {
  extensions 5;
  extensions 10 to 20;
}
message N {
  extensions 1 to max;
}

extend .a.M {
  optional .a.M x = 11;
  optional int32 y = 12;
}
extend .a.N {
  optional group Gr = 3 {}
}
"""
    )


@pytest.mark.parametrize(
    "options",
    [
        "option (note).text = 't'; option (a.note).n = 1; option (.a.note).n = 0x2; option (note).inner.text = 'i';"
        "option (note).inner.n = 3; option (note).(more).text = 'm'; option (note).(a.more).n = 4;",
        "option (a.note) = { [a.more] { n: [4] text: 'm' } n: [1, 2], inner < n: 3 text: 'i' > text: 't' notes: [] };",
    ],
)
def test_a_custom_option_is_one_aggregate_however_it_was_set(options: str) -> None:
    text = f'package a; import "google/protobuf/descriptor.proto"; {OPTIONS} message M {{ {options} }}'
    assert """message M {
  option (a.note) = {
    [a.more]: {
      n: 4,
      text: "m"
    },
    inner: {
      n: 3,
      text: "i"
    },
    n: [
      1,
      2
    ],
    text: "t"
  };
}
""" in normalised(text)


def test_repeated_options_and_messages_in_them_keep_their_order() -> None:
    text = f"""package a; import "google/protobuf/descriptor.proto"; {OPTIONS}
    message M {{
      option (tag) = "z"; option (note).notes = {{ n: 2 }}; option (tag) = "y"; option (note).notes = {{}};
    }}
    """
    result = normalised(text)
    assert '  option (a.tag) = "z";\n  option (a.tag) = "y";\n' in result
    assert "notes: [\n      {\n        n: 2\n      },\n      {\n      }\n    ]\n" in result


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0x1F", "31"),
        ("-017", "-15"),
        ("1.50", "1.5"),
        ("2.0", "2"),
        ("1e3", "1000"),
        ("3.14159", "3.14159"),
        ("1e300", "1e+300"),
        ("-inf", "-inf"),
        ("NAME_1", "NAME_1"),
        ("1e999", "1e999"),
    ],
)
def test_numbers_keep_their_value(written: str, expected: str) -> None:
    assert normalise_number(written) == expected
    assert normalise_number(expected) == expected
