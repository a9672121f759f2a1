"""Brokers that follow each other: real partitions, handlers and fetchers, joined without a network."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.joined_brokers import JoinedBrokers, contents, run_joined, until
from harness.running_node import batch_of
from ottla.broker.replica_fetching.fetchers import ReplicaFetchers
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest

Scenario = Callable[[JoinedBrokers], Awaitable[None]]


@pytest.mark.parametrize("directories", [1, 2])
def test_what_a_leader_acknowledges_is_byte_for_byte_on_every_replica(tmp_path: Path, directories: int) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        for number in range(20):
            assert await cluster.brokers[1].produce(batch_of(b"%d" % number)) == (0, number)
            for broker in cluster.brokers.values():
                assert broker.partition.log.log_end_offset == number + 1, "acknowledged by all"
        await cluster.until_equal()

    run_joined(JoinedBrokers(tmp_path, directories=directories), scenario)


@pytest.mark.parametrize("directories", [1, 2])
def test_a_former_leader_truncates_what_was_never_committed(tmp_path: Path, directories: int) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        await cluster.brokers[1].produce(batch_of(b"kept"))
        cluster.cut_off.add(1)
        for _ in range(3):
            outcome, _ = await cluster.brokers[1].produce(batch_of(b"lost"), timeout_ms=1)
            assert outcome == ErrorCode.REQUEST_TIMED_OUT
        await cluster.elect(2, (2, 3))
        await cluster.brokers[2].produce(batch_of(b"new"))
        await cluster.mend(1)
        await cluster.until_equal()
        assert contents(cluster.brokers[1].partition).count(b"lost") == 0
        await until(lambda: set(cluster.state.isr) == {1, 2, 3})
        assert (await cluster.brokers[2].produce(batch_of(b"newer")))[0] == 0

    run_joined(JoinedBrokers(tmp_path, directories=directories), scenario)


def test_leadership_that_goes_round_leaves_equal_logs(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        for turn in range(9):
            leader = turn % 3 + 1
            await cluster.elect(leader)
            # Not acknowledged by all: some of it is cut when the next one leads.
            await cluster.brokers[leader].produce(batch_of(b"%d" % turn), acks=1)
        await cluster.until_equal()
        assert (await cluster.brokers[3].produce(batch_of(b"last")))[0] == 0

    run_joined(JoinedBrokers(tmp_path), scenario)


def test_a_follower_that_lags_leaves_the_in_sync_set_and_comes_back(tmp_path: Path) -> None:
    cluster = JoinedBrokers(tmp_path)
    cluster.lag_time_max_ms = 200

    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        leader.in_sync.start()
        cluster.cut_off.add(3)
        assert (await leader.produce(batch_of(b"v")))[0] == 0, "once the third has left"
        assert set(cluster.state.isr) == {1, 2}
        assert leader.in_sync.shrink_count == 1
        await cluster.mend(3)
        await until(lambda: set(cluster.state.isr) == {1, 2, 3})
        assert leader.in_sync.expand_count == 1
        await cluster.until_equal()

    run_joined(cluster, scenario)


def test_an_idle_partition_stays_in_sync_and_so_does_one_that_awakes(tmp_path: Path) -> None:
    cluster = JoinedBrokers(tmp_path, partitions=4)
    cluster.lag_time_max_ms = 100

    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        await leader.produce(batch_of(b"v"))
        await cluster.until_equal()
        for _ in range(5):
            asked = len([one for one in cluster.sent if isinstance(one, FetchRequest)])
            await until(lambda asked=asked: len(cluster.sent) > asked + 10)  # type: ignore[misc]
            await leader.in_sync.tick()
        await leader.produce(batch_of(b"v"), acks=1)
        await leader.in_sync.tick()
        assert leader.in_sync.shrink_count == 0
        assert set(cluster.state.isr) == {1, 2, 3}

    run_joined(cluster, scenario)


def test_idle_partitions_cost_a_fetch_nothing(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        await until(lambda: any(isinstance(one, FetchRequest) and one.session_epoch > 2 for one in cluster.sent))
        incremental = [one for one in cluster.sent if isinstance(one, FetchRequest) and one.session_epoch > 2]
        assert all(not one.topics and not one.forgotten_topics_data for one in incremental)

    run_joined(JoinedBrokers(tmp_path, partitions=20), scenario)


def test_one_damaged_partition_does_not_stop_the_others(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader, follower = cluster.brokers[1], cluster.brokers[2]
        damaged = leader.replicas.partition("orders", 0)
        cluster.cut_off.add(2)
        await leader.produce(batch_of(b"first"), acks=1)
        # The disk of the leader returns what it did not write; nobody looks at the checksum before the follower does.
        (segment,) = damaged.log.directory.glob("*.log")
        with segment.open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"\xff")
        await cluster.mend(2)
        for index in (1, 2, 3):
            assert (await leader.produce(batch_of(b"v"), acks=1, index=index))[0] == 0
            await until(lambda index=index: follower.replicas.partition("orders", index).log.log_end_offset == 1)  # type: ignore[misc]
        assert follower.partition.log.log_end_offset == 0

    run_joined(JoinedBrokers(tmp_path, 2, partitions=4), scenario)


def test_a_follower_that_was_away_for_long_starts_where_its_leaders_log_starts(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        cluster.cut_off.add(2)
        await cluster.elect(1, (1,))
        await leader.produce(batch_of(*[b"v"] * 10))
        await leader.produce(batch_of(*[b"w"] * 10))
        leader.partition.log.increment_log_start_offset(13)
        await cluster.mend(2)
        await until(lambda: set(cluster.state.isr) == {1, 2})
        log = cluster.brokers[2].partition.log
        await until(lambda: (log.log_start_offset, log.log_end_offset) == (13, 20))
        assert contents(cluster.brokers[2].partition) == contents(leader.partition)

    run_joined(JoinedBrokers(tmp_path, 2), scenario)


def test_a_broker_that_lost_its_disk_rebuilds_itself(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        await cluster.brokers[1].produce(batch_of(b"a", b"b"))
        await cluster.elect(1, (1, 2))
        for path in (tmp_path / "broker-3-0").rglob("*"):
            if path.is_file():
                path.unlink()
        await cluster.restart(3)
        await until(lambda: set(cluster.state.isr) == {1, 2, 3})
        await cluster.until_equal()

    run_joined(JoinedBrokers(tmp_path), scenario)


def test_an_earlier_life_of_a_broker_is_not_taken_for_the_present_one(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        leader.replicas.live_brokers[2] = 999
        await leader.produce(batch_of(b"v"), acks=1)
        answers = len(cluster.sent)
        await until(lambda: len(cluster.sent) > answers + 5)
        assert leader.partition.log.high_watermark == 0
        assert cluster.brokers[2].partition.log.log_end_offset == 0

    run_joined(JoinedBrokers(tmp_path, 2), scenario)


def test_flush_messages_holds_a_followers_fetch_back_until_the_disk_has_it(tmp_path: Path) -> None:
    cluster = JoinedBrokers(tmp_path)
    cluster.log_config = replace(cluster.log_config, flush_messages=1)

    async def scenario(cluster: JoinedBrokers) -> None:
        for number in range(3):
            assert await cluster.brokers[1].produce(batch_of(b"v")) == (0, number)
            for follower in (cluster.brokers[2], cluster.brokers[3]):
                assert follower.partition.log.recovery_point == number + 1

    run_joined(cluster, scenario)


def test_fetchers_end_with_their_last_partition(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        fetchers: ReplicaFetchers = cluster.brokers[2].fetchers
        assert [fetcher.leader_id for fetcher in fetchers] == [1]
        await cluster.elect(2)
        assert list(fetchers) == []
        await cluster.elect(3)
        assert [fetcher.leader_id for fetcher in fetchers] == [3]
        await asyncio.sleep(0)

    run_joined(JoinedBrokers(tmp_path), scenario)


@pytest.mark.parametrize("directories", [1, 2])
def test_records_are_deleted_when_every_live_replica_has_deleted_them(tmp_path: Path, directories: int) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        await leader.produce(batch_of(*[b"v"] * 10))
        assert await leader.delete_records(7) == (0, 7)
        assert {broker.partition.log.log_start_offset for broker in cluster.brokers.values()} == {7}
        cluster.cut_off.add(3)
        assert await leader.delete_records(9, timeout_ms=100) == (ErrorCode.REQUEST_TIMED_OUT, -1)
        await cluster.fence(3)
        assert await leader.delete_records(9) == (0, 9), "one that is fenced is not waited for"
        assert cluster.brokers[3].partition.log.log_start_offset == 7

    run_joined(JoinedBrokers(tmp_path, directories=directories), scenario)


def test_who_waits_for_a_deletion_hears_at_once_that_another_broker_leads(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        await leader.produce(batch_of(*[b"v"] * 10))
        cluster.cut_off.update((2, 3))
        waiting = asyncio.ensure_future(leader.delete_records(5, timeout_ms=600_000))
        await until(lambda: leader.partition.log.log_start_offset == 5)
        await cluster.elect(2)
        assert await waiting == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)

    run_joined(JoinedBrokers(tmp_path), scenario)


def test_who_waits_for_replicas_hears_at_once_that_another_broker_leads(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        await cluster.until_equal()
        cluster.cut_off.update((2, 3))
        waiting = [asyncio.ensure_future(leader.produce(batch_of(b"v"), timeout_ms=600_000)) for _ in range(3)]
        await until(lambda: leader.partition.log.log_end_offset == 3)
        await cluster.elect(2)
        assert [code for code, _ in await asyncio.gather(*waiting)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3

    run_joined(JoinedBrokers(tmp_path), scenario)


def test_below_the_minimum_in_sync_nothing_is_taken_and_what_waits_is_not_acknowledged(tmp_path: Path) -> None:
    cluster = JoinedBrokers(tmp_path)
    cluster.log_config = replace(cluster.log_config, min_insync_replicas=2)

    async def scenario(cluster: JoinedBrokers) -> None:
        leader = cluster.brokers[1]
        await leader.produce(batch_of(b"v"))
        cluster.cut_off.update((2, 3))
        waiting = asyncio.ensure_future(leader.produce(batch_of(b"w"), timeout_ms=300))
        await until(lambda: leader.partition.log.log_end_offset == 2)
        await cluster.fence(2)
        await cluster.fence(3)
        assert cluster.state.isr == (1,)
        assert (await leader.produce(batch_of(b"x")))[0] == ErrorCode.NOT_ENOUGH_REPLICAS
        assert (await waiting)[0] == ErrorCode.REQUEST_TIMED_OUT
        assert leader.partition.log.high_watermark == 1

    run_joined(cluster, scenario)


def test_a_partition_whose_disk_hangs_does_not_hold_up_the_others(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        leader, follower = cluster.brokers[1], cluster.brokers[2]
        await cluster.until_equal()
        hanging = follower.replicas.partition("orders", 0)
        others = [
            index
            for index in range(8)
            if follower.replicas.partition("orders", index).log.directory.parent != hanging.log.directory.parent
        ]
        assert others
        threads = follower.replicas.threads_of(hanging)
        wakes_up = threading.Event()
        assert threads.writer is not None
        threads.writer.put(lambda _: wakes_up.wait(), b"", lambda _: None)
        try:
            assert (await leader.produce(batch_of(b"v"), acks=1))[0] == 0
            for _ in range(5):
                for index in others:
                    assert (await leader.produce(batch_of(b"v"), index=index))[0] == 0
            assert hanging.log.log_end_offset == 0
        finally:
            wakes_up.set()
        await cluster.until_equal()

    run_joined(JoinedBrokers(tmp_path, 2, partitions=8, directories=2), scenario)


def test_a_broker_does_not_lead_before_its_log_is_cut(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        former = cluster.brokers[1]
        await former.produce(batch_of(b"kept"))
        cluster.cut_off.add(1)
        await former.produce(batch_of(b"lost"), acks=1)
        await cluster.elect(2, (2, 3))
        await cluster.brokers[2].produce(batch_of(b"new"), acks=1)
        may_cut = threading.Event()
        log = former.partition.log
        truncate_to = log.truncate_to

        def truncate_late(offset: int, now_ms: int) -> bool:
            may_cut.wait()
            return truncate_to(offset, now_ms)

        log.truncate_to = truncate_late  # type: ignore[method-assign]
        await cluster.mend(1)
        await until(lambda: former.partition in former.replicas._cuts)
        election = asyncio.ensure_future(cluster.elect(1, (1, 2, 3)))
        answered = len(cluster.sent)
        await until(lambda: len(cluster.sent) > answered + 3)
        assert not election.done()
        assert not former.partition.is_leader
        may_cut.set()
        await election
        assert former.partition.is_leader
        assert contents(former.partition).count(b"lost") == 0
        assert (await former.produce(batch_of(b"newer")))[0] == 0
        await cluster.until_equal()

    run_joined(JoinedBrokers(tmp_path), scenario)
