from typing import Any

import pytest

from ottla.schemas.avro.logical_types import logical_type_of
from unit.schemas.avro.schemas import parse


@pytest.mark.parametrize(
    ("schema", "is_valid"),
    [
        ({"type": "int", "logicalType": "date"}, True),
        ({"type": "long", "logicalType": "date"}, False),
        ({"type": "string", "logicalType": "uuid"}, True),
        ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, True),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "uuid"}, False),
        ({"type": "string", "logicalType": "uuid", "avro.java.string": "String"}, False),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, True),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 4}, True),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 5}, False),
        ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, False),
        ({"type": "bytes", "logicalType": "decimal"}, False),
        ({"type": "string", "logicalType": "decimal", "precision": 4}, False),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4}, True),
        ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5}, False),
        ({"type": "int", "logicalType": "of my own"}, False),
        ({"type": "int", "logicalType": 5}, False),
    ],
)
def test_a_logical_type_stands_on_its_own_type_alone(schema: Any, is_valid: bool) -> None:
    root = parse(schema).document.root
    assert (logical_type_of(root) is not None) == is_valid  # type: ignore[arg-type]
