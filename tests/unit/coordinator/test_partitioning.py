import pytest

from ottla.coordinator.partitioning import java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("polygenelubricants", -(2**31)), ("zzzzzzzz", -1910022912), ("grüße-😀", 347391577)],
)
def test_the_hash_is_javas(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("g1", 2), ("g2", 0), ("negative-group", 2), ("polygenelubricants", 0), ("zzzzzzzz", 0), ("grüße-😀", 1)],
)
def test_groups_are_where_apache_kafka_put_them(group_id: str, partition: int) -> None:
    assert partition_for(group_id, 3) == partition


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one partition"):
        partition_for("g", 0)
