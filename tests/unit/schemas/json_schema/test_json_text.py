import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.json_schema.json_text import DEPTH_MAX, BadJson, check_depth, read_json, show_json, write_json

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (' { "b" : 1 , "a" : [ ] } ', '{"b":1,"a":[]}'),
        ("{}", "{}"),
        # As BigDecimal.toString.
        ("[1.0, 1.50, 1e5, 1E5, 1e-7, 0.000001, 0.0000001]", "[1.0,1.50,1E+5,1E+5,1E-7,0.000001,1E-7]"),
        ("[-0.0, -0, 0.00e3, 12.5e1, 1e0]", "[0.0,0,0E+1,125,1]"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        # As Jackson escapes.
        (r'"\u00e9 \/ \u2028 \ud83d\ude00 \u007f"', '"é / \u2028 😀 \x7f"'),
        (r'"\" \\ \b \t \n \f \r \u0000 \u001f"', r'"\" \\ \b \t \n \f \r \u0000 \u001F"'),
        # Of a name that comes twice, the place of the first and the value of the last.
        ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
    ],
)
def test_what_is_written(text: str, written: str) -> None:
    assert write_json(read_json(text)) == written


def test_names_are_sorted_as_java_does() -> None:
    tree = {"b": 1, "a": {"d": 1, "c": [{"z": 1, "y": 2}]}, "\uffff": 1, "\U00010000": 2}
    assert write_json(tree, is_sorted=True) == '{"a":{"c":[{"y":2,"z":1}],"d":1},"b":1,"\U00010000":2,"\uffff":1}'


@given(TREES)
def test_what_is_written_is_read_again(tree: Any) -> None:
    written = write_json(tree)
    assert write_json(read_json(written)) == write_json(tree).replace("-0.000", "0.000") or "-0E" in written
    json.loads(written)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("1 2", "not JSON"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[" * 100_000, "deeper than 200"),
        ('{"a":' * 100_000, "deeper than 200"),
        ("1" * 5000, "5000 digits"),
        ("1." + "1" * 5000, "digits"),
        ("1e99999", "exponent of 1e99999"),
        (r'["\ud800"]', "half of a surrogate pair"),
        (r'{"\udc00": 1}', "half of a surrogate pair"),
        ('"\ud800"', "half of a surrogate pair"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadJson, match=message):
        read_json(text)


def test_brackets_in_strings_have_no_depth() -> None:
    text = json.dumps(["[" * 1000, '"{\\' * 1000])
    check_depth(text, 1)
    deepest = "[" * DEPTH_MAX + "]" * DEPTH_MAX
    assert write_json(read_json(deepest)) == deepest


def test_what_is_long_is_shown_in_part() -> None:
    assert show_json([1, 2], 10) == "[1,2]"
    assert show_json(list(range(100_000)), 10) == "[0,1,2,3,4..."
    assert show_json(Decimal("1.0"), 10) == "1.0"
