from collections import Counter
from dataclasses import replace

import pytest

from ottla.metadata.controller.placement import alternate_racks, place_replicas
from ottla.metadata.image import BrokersImage
from ottla.protocol.errors import ApiError, ErrorCode
from unit.metadata.clusters import cluster

TWO_RACKS = {0: "a", 1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}


def brokers(*, racks: dict[int, str] | None = None, count: int = 6, fenced: tuple[int, ...] = ()) -> BrokersImage:
    return cluster(*range(count), racks=racks, fenced=fenced).brokers


def test_racks_alternate_in_the_ring() -> None:
    assert [broker.id for broker in alternate_racks(brokers(racks=TWO_RACKS))] == [0, 3, 1, 4, 2, 5]


def test_the_first_follower_is_the_next_in_the_ring_on_another_rack() -> None:
    (replicas,) = place_replicas(
        brokers(racks=TWO_RACKS), partition_count=1, replication_factor=2, pick=lambda bound: 3
    )
    assert replicas == (4, 2)


@pytest.mark.parametrize("racks", [None, TWO_RACKS])
@pytest.mark.parametrize("start", range(6))
def test_ten_partitions_of_three_replicas_on_six_brokers_make_five_each(racks, start: int) -> None:
    placed = place_replicas(brokers(racks=racks), partition_count=10, replication_factor=3, pick=lambda bound: start)
    assert set(Counter(replica for replicas in placed for replica in replicas).values()) == {5}
    assert set(Counter(replicas[0] for replicas in placed).values()) <= {1, 2}


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("partitions", [1, 5, 23])
def test_replicas_are_distinct_and_spread_evenly(count: int, partitions: int) -> None:
    for factor in range(1, count + 1):
        placed = place_replicas(
            brokers(count=count), partition_count=partitions, replication_factor=factor, pick=lambda bound: bound // 2
        )
        assert all(len(set(replicas)) == factor for replicas in placed)
        for spread in (
            Counter(replica for replicas in placed for replica in replicas),
            Counter(replicas[0] for replicas in placed),
        ):
            loads = [spread[i] for i in range(count)]
            assert max(loads) - min(loads) <= 1


def test_when_a_broker_fails_all_others_take_over_from_it() -> None:
    placed = place_replicas(brokers(count=4), partition_count=12, replication_factor=4, pick=lambda bound: 1)
    for failed in range(4):
        successors = Counter(replicas[1] for replicas in placed if replicas[0] == failed)
        assert successors == {other: 1 for other in range(4) if other != failed}


def test_each_partition_uses_as_many_racks_as_it_can() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}
    placed = place_replicas(brokers(racks=racks, count=5), partition_count=20, replication_factor=3, pick=lambda b: 1)
    assert all({racks[replica] for replica in replicas} == {"a", "b", "c"} for replicas in placed)


def test_a_fenced_broker_may_follow_but_not_lead() -> None:
    placed = place_replicas(
        brokers(count=3, fenced=(1,)), partition_count=6, replication_factor=3, pick=lambda bound: 0
    )
    assert {replicas[0] for replicas in placed} == {0, 2}


def test_a_broker_that_shuts_down_does_not_lead_and_somebody_must() -> None:
    leaving = [replace(broker, is_in_controlled_shutdown=broker.id != 1) for broker in brokers(count=3)]
    placed = place_replicas(leaving, partition_count=6, replication_factor=2, pick=lambda bound: 0)
    assert {replicas[0] for replicas in placed} == {1}
    with pytest.raises(ApiError, match="All brokers are currently fenced or in controlled shutdown") as raised:
        place_replicas([leaving[0]], partition_count=1, replication_factor=1, pick=lambda bound: 0)
    assert raised.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_more_replicas_than_brokers_cannot_be() -> None:
    with pytest.raises(ApiError, match=r"replication factor of 4 cannot be reached because only 3 broker") as raised:
        place_replicas(brokers(count=3), partition_count=1, replication_factor=4, pick=lambda bound: 0)
    assert raised.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_broker_whose_directories_are_all_cordoned_gets_nothing_new() -> None:
    first, second = bytes(15) + b"1", bytes(15) + b"2"
    cordoned: dict[int, tuple[bytes, ...]] = {0: (first, second), 1: (first,), 2: ()}
    ring = [
        replace(broker, log_dirs=(first, second), cordoned_log_dirs=cordoned[broker.id]) for broker in brokers(count=3)
    ]
    placed = place_replicas(ring, partition_count=10, replication_factor=2, pick=lambda _: 0)
    assert {broker_id for replicas in placed for broker_id in replicas} == {1, 2}
    with pytest.raises(ApiError) as refused:
        place_replicas(ring[:1], partition_count=1, replication_factor=1, pick=lambda _: 0)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert "cordoned.log.dirs" in refused.value.message
