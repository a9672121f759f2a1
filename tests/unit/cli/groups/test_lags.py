import pytest

from ottla.cli.groups.lags import GroupLag, PartitionLag
from ottla.client import TopicPartition
from ottla.client.admin.groups import GroupDescription


def group_lag(*offsets: tuple[int | None, int | None]) -> GroupLag:
    rows = (
        PartitionLag(TopicPartition("orders", number), current, None, end, end, None)
        for number, (current, end) in enumerate(offsets)
    )
    return GroupLag(GroupDescription("billing"), tuple(rows))


@pytest.mark.parametrize(
    ("offsets", "lag"),
    [
        ([(4, 6), (0, 5)], 7),
        ([(4, 6), (None, 5)], 2),
        ([(None, 6), (3, None)], None),
        ([], 0),
    ],
)
def test_the_lag_of_a_group_is_unknown_where_that_of_every_partition_is(
    offsets: list[tuple[int | None, int | None]], lag: int | None
) -> None:
    assert group_lag(*offsets).lag == lag
