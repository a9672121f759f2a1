"""Logs that move between two disks while they are in use."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.joined_brokers import until
from ottla.broker.disks.directory_moves import DirectoryMoves
from ottla.metadata.image import ImageDelta
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.log import Log
from unit.broker.coordinators.groups.fakes import TOPIC_ID, image_with
from unit.broker.two_disks import TwoDisks, outcome, run


async def move(disks: TwoDisks) -> None:
    """Moves the partition to the other disk."""
    moves = DirectoryMoves(disks.replicas)
    try:
        moving = moves.move("t", 0, disks.logs.directories[1])
        assert moving is not None
        assert moves.move("t", 0, disks.logs.directories[1]) is None, "it is moving"
        await moving
        assert not moves.under_way
    finally:
        moves.stop()


def test_a_log_moves_with_what_was_still_waiting_to_be_appended(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        moving = asyncio.ensure_future(move(disks))
        waiting = [disks.append(disks.partition) for _ in range(100)]
        await moving
        assert [(await outcome(one)).first_offset for one in waiting] == list(range(100))
        assert disks.partition.log.directory.parent == disks.other.root
        assert disks.partition.log.log_end_offset == 100
        assert (await outcome(disks.append(disks.partition))).first_offset == 100

    run(tmp_path, scenario)


def test_a_log_whose_disk_hangs_at_the_end_of_its_move_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla.broker.disks.directory_moves._SWAP_PATIENCE_S", 0.05)

    async def scenario(disks: TwoDisks) -> None:
        disks.disk.takes_appends.clear()
        waiting = disks.append(disks.partition)
        await move(disks)
        assert disks.partition.log.directory.parent == disks.disk.root
        disks.disk.wake_up()
        assert (await outcome(waiting)).first_offset == 0
        assert (await outcome(disks.append(disks.partition))).first_offset == 1

    run(tmp_path, scenario)


def test_a_partition_is_out_of_service_at_the_end_of_its_move_and_the_same_afterwards(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = disks.partition
        disks.disk.takes_appends.clear()
        waiting = disks.append(partition)
        moving = asyncio.ensure_future(move(disks))
        await until(lambda: disks.replicas.is_suspended("t", 0))
        with pytest.raises(ApiError) as refused:
            disks.replicas.partition("t", 0)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        disks.disk.wake_up()
        await moving
        assert not disks.replicas.is_suspended("t", 0)
        assert disks.partition is partition
        info = await outcome(waiting)
        assert partition.is_committed(info.leader_epoch, info.last_offset)

    run(tmp_path, scenario)


def test_a_partition_that_is_deleted_before_the_end_of_its_move_stays_out_of_service(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        partition = disks.partition
        image = image_with(offsets_partitions=0)
        without = replace(image, topics=image.topics.without_topic(TOPIC_ID))
        await disks.replicas.apply(ImageDelta(deleted_topics={TOPIC_ID: "t"}), without)

        async def never() -> Log:
            raise AssertionError

        assert not await disks.replicas.replace_log(partition, never)
        assert disks.replicas.find("t", 0) is None

    run(tmp_path, scenario)
