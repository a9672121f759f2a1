import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.avro.json_text import DEPTH_MAX, read, sort_keys, write
from ottla.schemas.errors import InvalidSchema


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.00012, "-1.2E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e21, "1.0E21"),
        (1.5e-300, "1.5E-300"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        (10**30, "1" + "0" * 30),
    ],
)
def test_numbers_are_written_as_java_does(number: float, written: str) -> None:
    assert write(number) == written


def test_nothing_is_escaped_that_need_not_be() -> None:
    assert write({"ä/€": ["\u007f\u2028", '"\\\n\u001f']}) == '{"ä/€":["\u007f\u2028","\\"\\\\\\n\\u001F"]}'
    assert write([[], {}, None, True, False]) == "[[],{},null,true,false]"


def test_comments_are_no_part_of_the_text() -> None:
    assert read('/* a */ {"a": "//b /* c */" // d\n}/**/') == {"a": "//b /* c */"}


def test_the_last_of_two_equal_keys_wins_in_the_place_of_the_first() -> None:
    assert write(read('{"a": 1, "b": 2, "a": 3}')) == '{"a":3,"b":2}'


@pytest.mark.parametrize(
    "text", ["", "string", "{", "NaN", "[Infinity]", '{"a":}', "[1] 2", "'a'", "[" + "9" * 5000 + "]"]
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema, match="not JSON"):
        read(text)


@pytest.mark.parametrize("levels", [DEPTH_MAX + 1, 500_000])
def test_depth_has_a_bound(levels: int) -> None:
    with pytest.raises(InvalidSchema, match=f"deeper than {DEPTH_MAX}"):
        read("[" * levels + "]" * levels)


@pytest.mark.parametrize("text", ["/*" * 500_000, '"' + '\\"' * 500_000, "//\n" * 300_000])
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    with pytest.raises(InvalidSchema):
        read(text)
    assert time.process_time() - start < 2


def test_keys_are_sorted_at_every_level() -> None:
    assert write(sort_keys({"b": [{"d": 1, "c": 2}], "a": 0})) == '{"a":0,"b":[{"c":2,"d":1}]}'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_reads_the_same(value: object) -> None:
    assert json.loads(write(value)) == value  # type: ignore[arg-type]
