"""kafka-consumer-groups and kafka-groups."""

import re
from collections.abc import Callable

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.clients.java_client import JavaClient
from harness.waiting import eventually

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"

NOW_MS = 1_700_000_000_000

Tool = Callable[..., str]


@pytest.fixture
def topic(reference: ConfluentKafka, new_topic: Callable[..., str]) -> str:
    name = new_topic()
    reference.produce(name, [Record(b"%d" % n, timestamp_ms=NOW_MS + 1000 * n) for n in range(20)])
    return name


@pytest.fixture
def group(reference: ConfluentKafka, topic: str, fresh_name: Callable[[], str]) -> str:
    """A group without members that has read half of the topic."""
    name = fresh_name()
    reference.consume(topic, name, 10)
    return name


def row_of(group: str, described: str) -> list[str]:
    return next(line.split() for line in described.splitlines() if line.startswith(f"{group} "))


def test_groups_are_listed_with_state_and_type(tool: Tool, group: str) -> None:
    assert group in tool(CONSUMER_GROUPS, "--list").split()
    assert row_of(group, tool(CONSUMER_GROUPS, "--list", "--state")) == [group, "Empty"]
    assert row_of(group, tool(CONSUMER_GROUPS, "--list", "--type")) == [group, "Classic"]
    assert group not in tool(CONSUMER_GROUPS, "--list", "--state", "Stable").split()
    assert row_of(group, tool(GROUPS, "--list")) == [group, "Classic", "consumer"]


def test_a_described_group_shows_its_lag(tool: Tool, group: str, topic: str) -> None:
    row = row_of(group, tool(CONSUMER_GROUPS, "--describe", "--group", group))
    assert row == [group, topic, "0", "10", "20", "10", "-", "-", "-"]


def test_a_described_group_shows_its_members(
    java: JavaClient, tool: Tool, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    member = java.member(topic, group)
    try:
        eventually(member.assignment)
        state = row_of(group, tool(CONSUMER_GROUPS, "--describe", "--group", group, "--state"))
        assert state[-3:] == ["range", "Stable", "1"]
        members = tool(CONSUMER_GROUPS, "--describe", "--group", group, "--members", "--verbose")
        client = f"consumer-{group}"
        assert re.search(rf"^{group} +{client}-\S+ +/127.0.0.1 +{client}-\d+ +1 .*{topic}", members, re.MULTILINE)
        refused = java.tool(CONSUMER_GROUPS, "--bootstrap-server", java.bootstrap, "--delete", "--group", group)
        assert "GroupNotEmptyException" in refused.out + refused.err
    finally:
        member.close()


@pytest.mark.parametrize(
    ("where", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 20),
        (("--to-offset", "7"), 7),
        (("--shift-by", "-4"), 6),
        (("--to-current",), 10),
        (("--to-datetime", "2023-11-14T22:13:25.000"), 5),
    ],
)
def test_reset_offsets_moves_the_group(
    tool: Tool, reference: ConfluentKafka, group: str, topic: str, where: tuple[str, ...], offset: int
) -> None:
    change = ("--reset-offsets", "--group", group, "--topic", topic, *where)
    assert row_of(group, tool(CONSUMER_GROUPS, *change, "--dry-run")) == [group, topic, "0", str(offset)]
    assert reference.committed(group, topic, 0) == 10
    tool(CONSUMER_GROUPS, *change, "--execute")
    assert reference.committed(group, topic, 0) == offset


def test_offsets_and_groups_are_deleted(tool: Tool, reference: ConfluentKafka, group: str, topic: str) -> None:
    assert "Successful" in tool(CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
    assert reference.committed(group, topic, 0) is None
    reference.consume(topic, group, 1)
    assert "was successful" in tool(CONSUMER_GROUPS, "--delete", "--group", group)
    assert group not in tool(CONSUMER_GROUPS, "--list").split()
