"""The account of the pipeline's tests notices what it is there for."""

import pytest

from harness.pipeline_ledger import Output, Row, differences, expected_rows

EXPECTED = expected_rows(1, 5)


def marked(*numbers: int) -> list[Row]:
    return [(key, value + b"!") for key, value in (EXPECTED[number] for number in numbers)]


def test_each_record_once_and_in_order_is_right() -> None:
    assert differences(EXPECTED, {0: marked(0, 1, 3), 1: marked(2, 4)}) == []


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ({0: marked(0, 1, 2, 3)}, "is missing"),
        ({0: marked(0, 1, 2, 3, 4, 4)}, "1 too many of"),
        ({0: marked(0, 1, 2, 3, 4), 1: marked(4)}, "1 too many of"),
        ({0: EXPECTED}, "is missing"),
    ],
    ids=["lost", "twice in a row", "twice in two partitions", "not transformed"],
)
def test_what_is_lost_or_there_twice_is_found(output: Output, complaint: str) -> None:
    assert complaint in "\n".join(differences(EXPECTED, output))


def test_what_is_out_of_order_or_in_two_partitions_is_found() -> None:
    expected = expected_rows(1, 7)
    first, later = ((key, value + b"!") for key, value in (expected[1], expected[6]))
    rest = [(key, value + b"!") for key, value in expected if value not in (expected[1][1], expected[6][1])]
    assert first[0] == later[0]
    assert differences(expected, {0: [*rest, first, later]}) == []
    assert "has 1 after 6" in "\n".join(differences(expected, {0: [*rest, later, first]}))
    assert "is in partitions [0, 1]" in "\n".join(differences(expected, {0: [*rest, first], 1: [later]}))
