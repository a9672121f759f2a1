import argparse

import pytest

from ottla.cli.exits import UsageError
from ottla.cli.kafka.offsets.get_offsets import partition_filter


def chosen(*, topic: str | None = None, partitions: str | None = None, rules: str | None = None) -> set[str]:
    is_meant = partition_filter(argparse.Namespace(topic=topic, partitions=partitions, topic_partitions=rules))
    everything = [(name, number) for name in ("orders", "payments", "audit") for number in range(4)]
    return {f"{name}-{number}" for name, number in everything if is_meant(name, number)}


def test_topics_are_regular_expressions_and_partitions_numbers() -> None:
    assert chosen(topic="ord.*", partitions="0,3") == {"orders-0", "orders-3"}
    assert chosen(topic="orders,audit", partitions="1") == {"orders-1", "audit-1"}
    assert len(chosen()) == 12


@pytest.mark.parametrize(
    ("rules", "partitions"),
    [
        ("orders:2", {"orders-2"}),
        ("orders:1-3", {"orders-1", "orders-2"}),
        ("orders:3-", {"orders-3"}),
        ("orders:-1,audit:0", {"orders-0", "audit-0"}),
        (":0", {"orders-0", "payments-0", "audit-0"}),
        ("pay.*", {f"payments-{number}" for number in range(4)}),
    ],
)
def test_rules_have_ranges_without_their_end(rules: str, partitions: set[str]) -> None:
    assert chosen(rules=rules) == partitions


def test_rules_exclude_the_other_filters() -> None:
    with pytest.raises(UsageError, match="cannot be used with"):
        chosen(topic="orders", rules="orders")
    with pytest.raises(UsageError, match="Invalid rule"):
        chosen(rules="orders:x")
    with pytest.raises(UsageError, match="invalid regex"):
        chosen(topic="(")
