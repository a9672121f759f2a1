import math

import pytest

from ottla.cli.kafka.frame.java_numbers import java_double


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (1024.0, "1024.0"),
        (9_999_999.0, "9999999.0"),
        (10_485_760.0, "1.048576E7"),
        (1e7, "1.0E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-2.5e9, "-2.5E9"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text
