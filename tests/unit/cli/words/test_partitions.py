import pytest

from ottla.cli.exits import UsageError
from ottla.cli.words.partitions import TopicSelection, parse_selection


@pytest.mark.parametrize(
    ("text", "selection"),
    [
        ("orders", TopicSelection("orders")),
        ("orders:3", TopicSelection("orders", (3,))),
        ("orders:0,2,5-7", TopicSelection("orders", (0, 2, 5, 6, 7))),
        ("orders:1,1", TopicSelection("orders", (1,))),
    ],
)
def test_a_topic_may_be_followed_by_partitions(text: str, selection: TopicSelection) -> None:
    assert parse_selection(text) == selection


@pytest.mark.parametrize(
    "text",
    ["", ":0", "orders:", "orders:x", "orders:-1", "orders:1-", "orders:5-3", "orders:0-999999999999", "orders:1_0"],
)
def test_what_names_no_partitions_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_selection(text)
    assert "TOPIC:0,1,4-7" in str(caught.value.remedy)
