from typing import Any

import pytest

from ottla.schemas.avro.model import Union
from ottla.schemas.avro.plain_json.branches import Branches, Choice
from unit.schemas.avro.schemas import field, parse, record

ONE = record(field("x", "int"), name="a.One")
TWO = record(field("x", "int"), field("y", "int", default=0), name="a.Two")
DATE = {"type": "int", "logicalType": "date"}


def branches(*types: Any) -> Branches:
    document = parse(list(types)).document
    assert isinstance(document.root, Union)
    return Branches(document, document.root)


@pytest.mark.parametrize(
    ("types", "value", "index"),
    [
        (("null", "int"), None, 0),
        (("double", "long"), 1, 1),
        (("long", "double"), 1.0, 1),
        (("null", "double"), 1, 1),
        (("int", "long"), 2**40, 1),
        (("bytes", "string"), "a", 1),
        (("null", "bytes"), "a", 1),
        (("double", "string"), "NaN", 1),
        ((DATE, "string"), "2024-06-10", 0),
        ((DATE, "string"), "2024", 1),
        ((ONE, TWO), {"x": 1}, 0),
        ((ONE, TWO), {"x": 1, "y": 1}, 1),
        (({"type": "map", "values": "int"}, ONE), {"x": 1}, 1),
        (({"type": "map", "values": "int"}, ONE), {"z": 1}, 0),
        (({"type": "array", "items": "int"}, "string"), [1], 0),
        (("null", ONE), {"unknown": 1}, 1),
    ],
)
def test_the_branch_is_the_first_that_fits_best(types: tuple[Any, ...], value: Any, index: int) -> None:
    assert branches(*types).choose(value) == Choice(index, value)


def test_an_object_may_name_its_branch() -> None:
    union = branches("null", "bytes", "string", TWO)
    assert union.choose({"bytes": "a"}) == Choice(1, "a")
    assert union.choose({"a.Two": {"x": 1}}) == Choice(3, {"x": 1})
    assert union.choose({"null": None}) == Choice(0, None)


def test_an_object_whose_entry_is_only_called_like_a_branch_is_a_value() -> None:
    union = branches("null", {"type": "map", "values": "int"})
    assert union.choose({"map": 1}) == Choice(1, {"map": 1})


def test_what_no_branch_takes_has_none() -> None:
    assert branches("null", "int").choose("a") is None


def test_a_value_is_shown_with_its_branch_where_it_would_mean_another_one() -> None:
    union = branches("null", "bytes", "string", {"type": "map", "values": {"type": "map", "values": "int"}})
    assert union.show(0, None) is None
    assert union.show(2, "a") == "a"
    assert union.show(1, "a") == {"bytes": "a"}
    assert union.show(3, {"map": {}}) == {"map": {"map": {}}}
