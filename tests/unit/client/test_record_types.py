import pytest

from ottla.client.record_types import check_record


@pytest.mark.parametrize("value", [b"", b"x", bytearray(b"x"), memoryview(b"x"), None])
def test_bytes_and_nothing_are_sent(value: object) -> None:
    check_record(value, value, [("name", b"x"), ("none", None)], 0, 1)


@pytest.mark.parametrize(
    ("key", "value", "headers", "partition", "timestamp_ms", "told"),
    [
        (None, "text", (), None, None, r"value must be bytes, not str: encode it"),
        (None, {"a": 1}, (), None, None, r"value must be bytes, not dict$"),
        (7, b"", (), None, None, "key must be bytes, not int"),
        (None, b"", {"a": b"b"}, None, None, "headers must be a list of .* not dict"),
        (None, b"", [("a", "b")], None, None, "header 'a' must be bytes, not str"),
        (None, b"", [b"a"], None, None, "a pair of str and bytes"),
        (None, b"", (), "0", None, "partition must be an int, not str"),
        (None, b"", (), None, "now", "timestamp_ms must be an int, not str"),
    ],
)
def test_anything_else_is_told_by_name(
    key: object, value: object, headers: object, partition: object, timestamp_ms: object, told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        check_record(key, value, headers, partition, timestamp_ms)
