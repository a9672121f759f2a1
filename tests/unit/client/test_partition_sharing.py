"""The part of a consumer in its group, told what the group decides."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.client.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from ottla.client.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.client.group_member import GroupMember, State
from ottla.client.partition_sharing import GroupSettings, PartitionSharing
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


class Topics:
    """A cluster that has topics."""

    def __init__(self, **partition_counts: int) -> None:
        self.counts = partition_counts
        self.clock_s = 0.0
        self.settings = SimpleNamespace(metadata_max_age_ms=300_000, retry=SimpleNamespace(max_ms=1_000))

    @property
    def metadata(self) -> Any:
        return SimpleNamespace(
            topics={name: SimpleNamespace(partitions=range(count)) for name, count in self.counts.items()}
        )

    def now_s(self) -> float:
        return self.clock_s

    async def refresh(self, topics: frozenset[str]) -> None: ...


class Owner:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, set[TopicPartition]]] = []

    def rebalance_due(self) -> None:
        self.heard.append(("due", set()))

    async def partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(("revoked", set(partitions)))

    async def partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self.heard.append(("lost", set(partitions)))

    async def partitions_assigned(
        self, added: frozenset[TopicPartition], assignment: frozenset[TopicPartition]
    ) -> None:
        self.heard.append(("assigned", set(added)))


class Share:
    def __init__(self, assignor: Assignor = RANGE, **partition_counts: int) -> None:
        settings = GroupSettings("g", assignors=(assignor,))
        self.cluster = Topics(**partition_counts)
        self.owner = Owner()
        self.member = GroupMember(settings.for_member())
        self.sharing = PartitionSharing(self.cluster, self.member, settings, self.owner)  # type: ignore[arg-type]
        self.sharing.subscribe(("t",))

    def take(self, *partitions: TopicPartition) -> None:
        self.member.state = State.STABLE
        asyncio.run(self.sharing.take(encode_assignment(partitions)))

    def told(self) -> Subscription:
        (offer,) = self.sharing.offer()
        return decode_subscription(offer.metadata)


def test_a_consumer_offers_its_assignors_with_its_subscription() -> None:
    share = Share()
    assert [offer.protocol for offer in share.sharing.offer()] == ["range"]
    assert (share.told().topics, share.told().owned) == (("t",), ())


def test_the_leader_divides_the_partitions_of_all() -> None:
    share = Share(t=3)
    metadata = encode_subscription(Subscription(("t",)))
    parts = asyncio.run(share.sharing.divide("range", {"m1": metadata, "m2": metadata}))
    assert {name: decode_assignment(part) for name, part in parts.items()} == {"m1": (T0, T1), "m2": (T2,)}


def test_the_leader_asks_for_a_rebalance_when_there_are_more_partitions() -> None:
    share = Share(t=1)
    asyncio.run(share.sharing.divide("range", {"m1": encode_subscription(Subscription(("t",)))}))
    share.take(T0)
    share.cluster.counts["t"] = 2
    asyncio.run(share.sharing.watch())
    assert share.member.state is State.STABLE, "it looks now and then"
    share.cluster.clock_s = 301.0
    asyncio.run(share.sharing.watch())
    assert share.member.state is State.UNJOINED


def test_an_eager_consumer_gives_everything_back_before_it_joins() -> None:
    share = Share()
    share.take(T0)
    asyncio.run(share.sharing.prepare_to_join())
    assert share.owner.heard == [("assigned", {T0}), ("revoked", {T0})]
    assert share.told().owned == ()


def test_a_cooperative_consumer_joins_with_what_it_holds() -> None:
    share = Share(COOPERATIVE_STICKY)
    share.member.generation = 4
    share.take(T0, T1)
    asyncio.run(share.sharing.prepare_to_join())
    assert (share.told().owned, share.told().generation) == ((T0, T1), 4)


def test_a_cooperative_consumer_that_gave_something_back_joins_once_more() -> None:
    share = Share(COOPERATIVE_STICKY)
    share.take(T0, T1)
    assert share.member.state is State.STABLE
    share.take(T0)
    assert share.member.state is State.UNJOINED
    share.take(T0)
    assert share.member.state is State.STABLE
    assert share.owner.heard == [("assigned", {T0, T1}), ("revoked", {T1}), ("assigned", set()), ("assigned", set())]


def test_a_consumer_that_the_group_forgot_hears_that_its_partitions_are_lost() -> None:
    share = Share(COOPERATIVE_STICKY)
    share.take(T0)
    share.member.refused(ErrorCode.UNKNOWN_MEMBER_ID)
    asyncio.run(share.sharing.prepare_to_join())
    assert share.owner.heard[-1] == ("lost", {T0})
    assert share.sharing.owned == frozenset()


def test_a_consumer_that_leaves_gives_everything_back() -> None:
    share = Share(COOPERATIVE_STICKY)
    share.take(T0)
    asyncio.run(share.sharing.leave())
    assert share.owner.heard[-1] == ("revoked", {T0})
    assert not share.member.holds_something


def test_other_topics_need_another_rebalance() -> None:
    share = Share()
    share.take(T0)
    share.sharing.subscribe(("t",))
    assert share.member.state is State.STABLE
    share.sharing.subscribe(("t", "u"))
    assert share.member.state is State.UNJOINED


def test_mixed_assignors_rebalance_eagerly() -> None:
    settings = GroupSettings("g", assignors=(RANGE, COOPERATIVE_STICKY))
    member = GroupMember(settings.for_member())
    sharing = PartitionSharing(Topics(), member, settings, Owner())  # type: ignore[arg-type]
    assert not sharing.is_cooperative


@pytest.mark.parametrize("settings", [{"group_id": ""}, {"group_id": "g", "assignors": ()}])
def test_settings_that_cannot_work_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="needs"):
        GroupSettings(**settings)  # type: ignore[arg-type]
