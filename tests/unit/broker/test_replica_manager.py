"""Partitions on two disks, of which one does not answer."""

import asyncio
import gc
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from immutables import Map

from ottla.broker.requests.purgatory import wait_until_acknowledged, wait_until_committed
from ottla.metadata.image import ImageDelta, PartitionState, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.follower_state import Truncate
from ottla.replication.following import Cut, Following
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.log import AppendInfo
from unit.broker.coordinators.groups.fakes import NODE_ID, TOPIC_ID, image_with, partition_state
from unit.broker.two_disks import ID_OF_FIRST, ID_OF_SECOND, PATIENCE_S, TwoDisks, outcome, run


def asks_for_syncs(disks: TwoDisks) -> Partition:
    """The partition, which syncs every record from now on."""
    disks.partition.update_config(replace(disks.config, flush_messages=1))
    return disks.partition


async def acknowledged(partition: Partition, acks: int, appended: AppendInfo) -> bool:
    return await wait_until_acknowledged(partition, acks, appended, asyncio.get_running_loop().time() + PATIENCE_S)


@pytest.mark.parametrize("acks", [1, ACKS_ALL])
def test_a_record_is_neither_readable_nor_acknowledged_before_the_sync_has_ended(tmp_path: Path, acks: int) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = asks_for_syncs(disks)
        disks.disk.takes_syncs.clear()
        appended = await outcome(disks.append(partition))
        assert (partition.log.log_end_offset, partition.log.high_watermark) == (1, 0)
        waiting = asyncio.ensure_future(acknowledged(partition, acks, appended))
        assert await asyncio.to_thread(disks.disk.is_syncing.wait, PATIENCE_S)
        assert not waiting.done()
        assert partition.log.high_watermark == 0
        disks.disk.wake_up()
        assert await waiting
        assert partition.log.high_watermark == 1

    run(tmp_path, scenario)


def test_one_sync_serves_all_appends_that_wait_for_it(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = asks_for_syncs(disks)
        disks.disk.takes_syncs.clear()
        appended = [await outcome(disks.append(partition))]
        assert await asyncio.to_thread(disks.disk.is_syncing.wait, PATIENCE_S)
        appended += [await outcome(disks.append(partition)) for _ in range(49)]
        waiting = asyncio.gather(*(acknowledged(partition, 1, one) for one in appended))
        disks.disk.wake_up()
        assert all(await waiting)
        assert partition.log.high_watermark == 50
        assert disks.disk.log_sync_count == 2, "one had begun with the first record, the next served all others"

    run(tmp_path, scenario)


def test_a_disk_that_is_full_holds_records_back_until_a_later_sync_succeeds(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = asks_for_syncs(disks)
        disks.disk.sync_error = DiskFull(disks.disk.root, "sync", disks.disk.root, "full")
        appended = await outcome(disks.append(partition))
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        coordinator = asyncio.ensure_future(
            wait_until_committed(partition, 0, appended.last_offset, deadline, waits_for_space=True)
        )
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                await acknowledged(partition, 1, appended)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            assert partition.log.high_watermark == 0
            disks.replicas.sync_again()
        assert not coordinator.done()
        with pytest.raises(ApiError):
            await acknowledged(partition, 1, appended)
        disks.disk.sync_error = None
        disks.replicas.sync_again()
        assert await coordinator
        assert await acknowledged(partition, 1, appended)
        assert partition.log.high_watermark == 1

    run(tmp_path, scenario)


def test_whoever_waits_for_a_sync_hears_that_its_disk_is_broken(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = asks_for_syncs(disks)
        disks.disk.sync_error = StorageError(disks.disk.root, "sync", disks.disk.root, "broken")
        appended = await outcome(disks.append(partition))
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        for waiting in (
            acknowledged(partition, 1, appended),
            wait_until_committed(partition, 0, appended.last_offset, deadline, waits_for_space=True),
        ):
            with pytest.raises(ApiError) as refused:
                await waiting
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert not disks.replicas.is_online("t", 0)
        assert partition.log.high_watermark == 0

    run(tmp_path, scenario)


def test_an_append_that_hangs_holds_up_no_other_disk(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.disk.takes_appends.clear()
        waiting = disks.append(disks.partition)
        for number in range(3):
            assert (await outcome(disks.append(disks.replicas.partition("t", 1)))).first_offset == number
        with pytest.raises(ApiError) as refused:
            await outcome(waiting, 0.01)
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        disks.disk.wake_up()
        assert (await outcome(waiting)).first_offset == 0
        assert disks.partition.is_committed(0, 0)

    run(tmp_path, scenario)


def test_a_disk_that_fails_while_it_hangs_is_given_up_without_waiting_for_it(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.disk.takes_appends.clear()
        waiting = disks.append(disks.partition)
        await asyncio.sleep(0)
        disks.replicas.disk_failed(StorageError(disks.disk.root, "sync", disks.disk.root, "broken"))
        with pytest.raises(ApiError) as refused:
            await outcome(waiting)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(ApiError) as offline:
            disks.replicas.partition("t", 0)
        assert offline.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert (await outcome(disks.append(disks.replicas.partition("t", 1)))).first_offset == 0

    run(tmp_path, scenario)


def code_of(disks: TwoDisks, topic: str, index: int) -> ErrorCode | None:
    """Why a partition is not in service, None if it is."""
    try:
        disks.replicas.partition(topic, index)
    except ApiError as error:
        return error.code
    return None


def test_a_new_partition_that_cannot_be_made_keeps_no_other_one_from_its_service(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        names = ("first", "second", "third")
        image = image_with(offsets_partitions=0)
        topics = image.topics
        for name in names:
            topics = topics.with_topic(TopicImage(name, name.encode().ljust(16), Map({0: partition_state()})))
        image = replace(image, topics=topics)
        for disk in (disks.disk, disks.other):
            disk.is_full = True
        await disks.replicas.apply(ImageDelta(created_topics={name.encode().ljust(16) for name in names}), image)
        for disk in (disks.disk, disks.other):
            disk.is_full = False
        made: list[int] = []

        async def retry_creation() -> None:
            await disks.replicas.retry_creation(lambda: image, lambda: made.append(disks.replicas.offline_count))

        assert [code_of(disks, name, 0) for name in names] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
        disks.topics_without_config.update(names)
        with pytest.raises(ExceptionGroup):
            await retry_creation()
        assert [code_of(disks, name, 0) for name in names] == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
        disks.topics_without_config = {"second"}
        with pytest.raises(ExceptionGroup) as failed:
            await retry_creation()
        assert [str(error) for error in failed.value.exceptions] == ["second has no config"]
        assert [code_of(disks, name, 0) for name in names] == [None, ErrorCode.KAFKA_STORAGE_ERROR, None]
        disks.topics_without_config = set()
        await retry_creation()
        assert [code_of(disks, name, 0) for name in names] == [None] * 3
        assert made == [3, 1, 0]

    run(tmp_path, scenario)


def test_a_disk_that_fails_while_another_still_makes_its_part_of_a_topic_takes_only_its_own(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        topic_id = b"u".ljust(16)
        image = image_with(offsets_partitions=0)
        topic = TopicImage("u", topic_id, Map({index: partition_state() for index in range(4)}))
        image = replace(image, topics=image.topics.with_topic(topic))
        disks.other.is_asked.clear()
        disks.other.takes_names.clear()
        applying = asyncio.ensure_future(disks.replicas.apply(ImageDelta(created_topics={topic_id}), image))
        assert await asyncio.to_thread(disks.other.is_asked.wait, PATIENCE_S)
        first = next(directory for directory in disks.logs.directories if directory.path == disks.disk.root)
        await disks.replicas.threads[first].run_change(lambda: None)
        assert [index for index in range(4) if disks.logs.get("u", index)] == [0, 2]
        disks.disk.is_broken = True
        with pytest.raises(ApiError):
            await outcome(disks.append(disks.partition))
        disks.other.wake_up()
        await applying
        lost, made = ErrorCode.KAFKA_STORAGE_ERROR, None
        assert [code_of(disks, "u", index) for index in range(4)] == [lost, made, lost, made]
        assert disks.replicas.offline_count == 3
        # A log of that name is on the failed disk, so none is created on the other.
        await disks.replicas.retry_creation(lambda: image, lambda: None)
        assert disks.replicas.offline_count == 3

    run(tmp_path, scenario)


async def apply_third(disks: TwoDisks, state: PartitionState) -> None:
    """Topic `t` has, or gets, a third partition."""
    image = image_with(offsets_partitions=0)
    topic = image.topics.by_name("t")
    assert topic is not None
    topic = replace(topic, partitions=topic.partitions.set(2, state))
    image = replace(image, topics=image.topics.with_topic(topic))
    await disks.replicas.apply(ImageDelta(changed_partitions={(TOPIC_ID, 2)}), image)


def test_a_replica_that_was_taken_away_goes_with_its_log_and_comes_back_empty(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        here = replace(partition_state(), directories=(ID_OF_SECOND,))
        await apply_third(disks, here)
        partition = disks.replicas.partition("t", 2)
        assert partition.log.directory.parent == disks.other.root
        await outcome(disks.append(partition))
        woken: list[int] = []
        partition.watch(woken.append)
        await apply_third(disks, replace(here, replicas=(9,), isr=(9,), leader=9, leader_epoch=1, partition_epoch=1))
        assert code_of(disks, "t", 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert code_of(disks, "t", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert woken == [0]
        assert disks.logs.get("t", 2) is None
        assert not (disks.other.root / "t-2").exists()
        assert disks.replicas.find("t", 0) is not None
        again = replace(here, replicas=(9, NODE_ID), directories=(bytes(16), ID_OF_FIRST), leader_epoch=2)
        await apply_third(disks, replace(again, partition_epoch=7))
        back = disks.replicas.partition("t", 2)
        assert back.log.log_end_offset == 0
        assert back.log.directory.parent == disks.disk.root, "its record says so now"

    run(tmp_path, scenario)


def test_a_replica_that_is_given_while_a_disk_is_away_is_made_on_another(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.logs.fail_directory(StorageError(disks.other.root, "sync", disks.other.root, "broken"))
        # Its epoch shows that it has lived on other brokers before.
        given = replace(partition_state(), replicas=(9, NODE_ID), directories=(bytes(16), bytes(16)), partition_epoch=5)
        await apply_third(disks, given)
        assert disks.replicas.partition("t", 2).log.directory.parent == disks.disk.root

    run(tmp_path, scenario)


def test_a_replica_whose_record_names_a_disk_that_is_away_waits_for_it(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.logs.fail_directory(StorageError(disks.other.root, "sync", disks.other.root, "broken"))
        await apply_third(disks, replace(partition_state(), directories=(ID_OF_SECOND,)))
        assert code_of(disks, "t", 2) is ErrorCode.KAFKA_STORAGE_ERROR
        assert not (disks.disk.root / "t-2").exists()

    run(tmp_path, scenario)


@pytest.mark.parametrize("deletes", [False, True])
def test_a_new_leadership_does_not_wait_for_the_files_of_other_topics(tmp_path: Path, *, deletes: bool) -> None:
    async def scenario(disks: TwoDisks) -> None:
        # One that sorts before the topic that is here.
        other = TopicImage("other", bytes(16), Map({index: partition_state() for index in range(2)}))
        before = image_with(offsets_partitions=0)
        topic = before.topics.by_name("t")
        assert topic is not None
        with_other = replace(before, topics=before.topics.with_topic(other))
        if deletes:
            await disks.replicas.apply(ImageDelta(created_topics={other.id}), with_other)
        state = replace(topic.partitions[0], leader_epoch=5, partition_epoch=5)
        topics = (before if deletes else with_other).topics
        image = replace(before, topics=topics.with_partition(topic, 0, state))
        delta = ImageDelta(changed_partitions={(TOPIC_ID, 0)})
        if deletes:
            delta.deleted_topics[other.id] = "other"
        else:
            delta.created_topics.add(other.id)
        seen: list[int] = []
        for disk in (disks.disk, disks.other):
            disk.is_asked.clear()
            disk.takes_names.clear()
        applying = asyncio.ensure_future(
            disks.replicas.apply(delta, image, lambda: seen.append(disks.partition.leader_epoch))
        )
        assert await asyncio.to_thread(disks.other.is_asked.wait, PATIENCE_S)
        assert not applying.done()
        assert disks.partition.leader_epoch == 5
        assert seen == [5], "fetchers and coordinators are told as well"
        assert disks.replicas.find("other", 0) is None
        for disk in (disks.disk, disks.other):
            disk.wake_up()
        await applying
        assert (disks.replicas.find("other", 0) is None) is deletes

    run(tmp_path, scenario)


def test_a_change_without_files_is_told_once(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        image = image_with(offsets_partitions=0)
        topic = image.topics.by_name("t")
        assert topic is not None
        state = replace(topic.partitions[0], leader_epoch=5, partition_epoch=5)
        image = replace(image, topics=image.topics.with_partition(topic, 0, state))
        seen: list[None] = []
        await disks.replicas.apply(ImageDelta(changed_partitions={(TOPIC_ID, 0)}), image, lambda: seen.append(None))
        assert disks.partition.leader_epoch == 5
        assert seen == [], "by its end"

    run(tmp_path, scenario)


def test_new_topics_are_made_in_an_order_that_can_be_repeated(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        names = [f"topic-{number}" for number in range(8)]
        image = image_with(offsets_partitions=0)
        topics = image.topics
        for name in names:
            topics = topics.with_topic(TopicImage(name, name.encode().ljust(16), Map({0: partition_state()})))
        disks.made_topics.clear()
        created = {name.encode().ljust(16) for name in names}
        await disks.replicas.apply(ImageDelta(created_topics=created), replace(image, topics=topics))
        assert disks.made_topics == names

    run(tmp_path, scenario)


class CutInThread:
    """A follower whose log goes away while it is cut."""

    def __init__(self) -> None:
        self.may_fail = threading.Event()

    def begin_cut(self, _cut: Cut, *, now_ms: int) -> Callable[[], None]:
        def work() -> None:
            self.may_fail.wait(PATIENCE_S)
            raise LogGone(Path("t-0"))

        return work


def test_a_cut_that_fails_when_nobody_waits_for_it_any_more_is_no_error_of_the_node(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        unheard: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        follower = CutInThread()
        work = disks.replicas.cut(disks.partition, cast(Following, follower), Truncate(0))
        waiting = asyncio.get_running_loop().create_task(work)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        # Its error holds the frame in which the outcome of the cut has a name.
        del waiting, work
        follower.may_fail.set()
        # In the one thread that makes changes, after the cut.
        await disks.replicas.threads_of(disks.partition).run_change(lambda: None)
        gc.collect()
        assert unheard == []

    run(tmp_path, scenario)
