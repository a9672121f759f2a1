"""Values, as they are written into records."""

import pytest

from ottla.testing.history import Value


@pytest.mark.parametrize("value", [Value("p", 0), Value("a:b", 17)])
def test_a_value_comes_back_out_of_its_bytes(value: Value) -> None:
    assert Value.decode(value.encode()) == value


@pytest.mark.parametrize("data", [None, b"", b"p", b"p:", b":1", b"p:-1", b"p:1x", b"\xff\xfe", b"p:\xb2"])
def test_bytes_that_no_producer_wrote_become_a_value_that_nobody_sent(data: bytes | None) -> None:
    assert Value.decode(data) == Value(repr(data), -1)
