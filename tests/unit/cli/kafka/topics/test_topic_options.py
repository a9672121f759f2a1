import pytest

from ottla.cli.exits import UsageError
from ottla.cli.kafka.topics.topic_options import parse_replica_assignment


def test_colons_are_between_replicas_and_commas_between_partitions() -> None:
    assert parse_replica_assignment("1:2,2:3") == ((1, 2), (2, 3))
    assert parse_replica_assignment("0") == ((0,),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1:1", "may not contain duplicate entries: 1"),
        ("1:2,3", "Partition 1 has different replication factor"),
        ("99999999999", "'99999999999' does not name the brokers of partition 0"),
        ("1,x", "'x' does not name the brokers of partition 1"),
        ("", "does not name the brokers of partition 0"),
    ],
)
def test_what_cannot_be_assigned_is_told(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_replica_assignment(text)
