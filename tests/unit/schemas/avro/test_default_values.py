from typing import Any

import pytest

from ottla.schemas.avro.default_values import DefaultValues
from unit.schemas.avro.schemas import field, parse, record


@pytest.mark.parametrize(
    ("type_", "default", "value"),
    [
        ("bytes", "\u00ff", b"\xff"),
        ({"type": "fixed", "name": "F", "size": 1}, "a", b"a"),
        ("double", 1, 1.0),
        (["null", "bytes"], None, None),
        (["bytes", "null"], "a", b"a"),
        (["null", "bytes"], "a", b"a"),
        ({"type": "map", "values": {"type": "array", "items": "bytes"}}, {"k": ["a"]}, {"k": [b"a"]}),
        (record(field("x", "float", default=1), field("y", "bytes"), name="P"), {"y": "a"}, {"x": 1.0, "y": b"a"}),
        ("int", "no int", "no int"),
        (record(field("x", "int"), name="P"), {}, {}),
        ("R", {}, {}),
    ],
)
def test_a_default_becomes_what_would_be_read(type_: Any, default: Any, value: Any) -> None:
    document = parse(record(field("f", type_, default=default)), is_new=False).document
    root = document.types["R"]
    assert DefaultValues(document).of(root.fields[0].type, default) == value  # type: ignore[union-attr]
