"""Consumer groups: work is shared, handed over and resumed, whichever client does it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.clients.catalogue import clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Feature, Member, Record
from harness.waiting import eventually

PARTITIONS = 6
EVERY_PARTITION = frozenset(range(PARTITIONS))


@pytest.fixture
def topic(new_topic: Callable[[int], str]) -> str:
    return new_topic(PARTITIONS)


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """Closes members that a failing test leaves open."""
    with ExitStack() as stack:
        yield stack


def shared_fairly(*members: Member) -> Callable[[], bool]:
    """Whether the members hold all partitions between them, each one once, in equal shares."""

    def look() -> bool:
        shares = [member.assignment() for member in members]
        return frozenset().union(*shares) == EVERY_PARTITION and all(
            len(share) == PARTITIONS // len(members) for share in shares
        )

    return look


@clients_with(Feature.GROUPS)
def test_a_group_reads_every_partition_and_resumes_where_it_committed(
    client: Client, reference: ConfluentKafka, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    for partition in range(PARTITIONS):
        reference.produce(topic, [Record(b"early %d" % partition)], partition=partition)
    early = client.consume(topic, group, PARTITIONS)
    assert {(one.partition, one.record.value) for one in early} == {(n, b"early %d" % n) for n in range(PARTITIONS)}

    for partition in range(PARTITIONS):
        reference.produce(topic, [Record(b"late %d" % partition)], partition=partition)
    late = client.consume(topic, group, PARTITIONS)
    assert {(one.partition, one.record.value) for one in late} == {(n, b"late %d" % n) for n in range(PARTITIONS)}


@clients_with(Feature.GROUPS)
def test_another_client_resumes_where_this_one_committed(
    client: Client, reference: ConfluentKafka, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    reference.produce(topic, [Record(b"1"), Record(b"2"), Record(b"3")])
    assert [one.record.value for one in client.consume(topic, group, 3)] == [b"1", b"2", b"3"]
    assert reference.committed(group, topic, 0) == 3
    reference.produce(topic, [Record(b"4")])
    assert [one.record.value for one in reference.consume(topic, group, 1)] == [b"4"]


@clients_with(Feature.GROUPS)
def test_a_second_member_takes_half_and_gives_it_back(
    client: Client, topic: str, fresh_name: Callable[[], str], closing: ExitStack
) -> None:
    group = fresh_name()
    first = client.member(topic, group)
    closing.callback(first.close)
    eventually(shared_fairly(first))

    second = client.member(topic, group)
    eventually(shared_fairly(first, second))

    second.close()
    eventually(shared_fairly(first))


@clients_with(Feature.STATIC_MEMBERS)
def test_a_static_member_returns_to_its_partitions_without_a_rebalance(
    client: Client, topic: str, fresh_name: Callable[[], str], closing: ExitStack
) -> None:
    group = fresh_name()
    stays = client.member(topic, group, instance_id="stays")
    closing.callback(stays.close)
    eventually(shared_fairly(stays))
    restarts = client.member(topic, group, instance_id="restarts")
    eventually(shared_fairly(stays, restarts))
    held = restarts.assignment()
    revocations = stays.revocations()

    restarts.close()
    restarted = client.member(topic, group, instance_id="restarts")
    closing.callback(restarted.close)
    eventually(restarted.assignment)

    assert restarted.assignment() == held
    assert stays.revocations() == revocations


@clients_with(Feature.COOPERATIVE)
def test_a_cooperative_rebalance_moves_only_what_must_move(
    client: Client, topic: str, fresh_name: Callable[[], str], closing: ExitStack
) -> None:
    group = fresh_name()
    first = client.member(topic, group, cooperative=True)
    closing.callback(first.close)
    eventually(shared_fairly(first))

    second = client.member(topic, group, cooperative=True)
    held: list[frozenset[int]] = []

    def look() -> bool:
        held.append(first.assignment())
        return shared_fairly(first, second)()

    eventually(look)
    kept = held[-1]
    assert all(kept <= share for share in held), "the first member must not let go of what it keeps"

    second.close()
    eventually(shared_fairly(first))


@clients_with(Feature.GROUPS, Feature.GROUP_ADMIN)
def test_a_group_is_stable_with_members_and_empty_without(
    client: Client, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    member = client.member(topic, group)
    try:
        eventually(shared_fairly(member))
        assert group in client.groups()
        assert client.describe_group(group) == ("Stable", 1)
    finally:
        member.close()
    assert client.describe_group(group) == ("Empty", 0)


@clients_with(Feature.GROUP_DELETION)
def test_a_deleted_group_forgets_its_offsets(
    client: Client, reference: ConfluentKafka, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    reference.produce(topic, [Record(b"1")])
    reference.consume(topic, group, 1)
    assert client.committed(group, topic, 0) == 1
    client.delete_group(group)
    assert group not in client.groups()
    assert [one.record.value for one in reference.consume(topic, group, 1)] == [b"1"]
