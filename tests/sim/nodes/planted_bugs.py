"""Bugs to plant into a node, each of a kind that somebody has shipped: the simulator must find every one of them.

A bug is a change of one function, for as long as its context lasts. None is subtle in what it does, but each is of the
kind that unit tests pass by: it needs a crash, a full disk or an unlucky moment to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.shard_writes import ShardWrites, Write
from ottla.broker.coordinators.transactions.shard_driver import TransactionShardDriver
from ottla.metadata.image.configs import ConfigsImage, ResourceType
from ottla.storage.cleaning.offset_map import OffsetMap
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.producer_state import ProducerStates
from ottla.testing.history import AnomalyKind
from ottla.testing.sim.lone_node import LoneNode
from sim.hunting import PlantedBug


@contextmanager
def _change(owner: type, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    with patch.object(owner, name, change(getattr(owner, name))):
        yield


def acknowledge_before_the_write() -> Any:
    """No append waits for the sync that flush.messages asks for."""
    return _change(Log, "must_flush_now", lambda _: property(lambda _log: False))


def recovery_point_too_far() -> Any:
    """The checkpoint says that everything appended is on the disk."""

    def change(original: Any) -> Any:
        def write(self: LogDirectory, *arguments: Any, **options: Any) -> Any:
            for log in self.logs.values():
                log._flush.recovery_point = log.log_end_offset
            return original(self, *arguments, **options)

        return write

    return _change(LogDirectory, "write_recovery_points", change)


def producer_snapshot_stale() -> Any:
    """What is known of producers after a start lacks the last batch of each."""

    def change(original: Any) -> Any:
        def open_log(self: Log, *arguments: Any, **options: Any) -> None:
            original(self, *arguments, **options)
            for state in self.producers.all():
                if state.batches:
                    state.batches.pop()

        return open_log

    return _change(Log, "__init__", change)


def marker_before_records() -> Any:
    """The markers of a transaction are written before its end is logged."""

    def change(original: Any) -> Any:
        async def write(self: TransactionShardDriver, states: Any) -> None:
            for state in states:
                if state.state.is_prepared:
                    await self._markers.write(state, self._writes.leader_epoch)
            await original(self, states)

        return write

    return _change(TransactionShardDriver, "write", change)


def offset_answered_before_committed() -> Any:
    """A coordinator answers when its log has taken the write, not when it is committed."""

    async def wait(self: ShardWrites, write: Write) -> None:
        del self, write

    return _change(ShardWrites, "wait", lambda _: wait)


def truncated_index_trusted() -> Any:
    """An index that lost its last entries points behind the offset that is looked for."""

    def change(original: Any) -> Any:
        def entry_before(self: OffsetIndex, offset: int) -> Any:
            return original(self, offset + 1)

        return entry_before

    return _change(OffsetIndex, "entry_before", change)


def compaction_drops_a_live_key() -> Any:
    """The newest record of a key counts as replaced."""

    def change(original: Any) -> Any:
        def latest_of(self: OffsetMap, hashes: Any) -> Any:
            found = original(self, hashes)
            return np.where(found >= 0, found + 1, found)

        return latest_of

    return _change(OffsetMap, "latest_of", change)


def watermark_ahead_after_a_torn_tail() -> Any:
    """A log that was scanned at start counts as committed beyond its end."""

    def change(original: Any) -> Any:
        def update(self: Log, high_watermark: int) -> bool:
            original(self, high_watermark)
            if getattr(self, "recovery_point", 0) < self.log_end_offset:
                self.high_watermark = self.log_end_offset + 5
            return True

        return update

    return _change(Log, "update_high_watermark", change)


def sequence_window_forgotten() -> Any:
    """A batch that is repeated is taken for a new one."""

    def change(original: Any) -> Any:
        def check(self: ProducerStates, header: Any, *rest: Any, **options: Any) -> Any:
            state = self._producers.get(header.producer_id)
            found = original(self, header, *rest, **options)
            return None if state is not None else found

        return check

    return _change(ProducerStates, "check", change)


def group_state_above_the_watermark() -> Any:
    """What a group coordinator has given to its log is told to others at once; only its own client waits."""

    def change(original: Any) -> Any:
        def commit_ready(self: ShardWrites) -> None:
            if self._topic == OFFSETS_TOPIC:
                for write in self._in_flight:
                    on_committed, write.on_committed = write.on_committed, _do_nothing
                    on_committed(write.number)
            original(self)

        return commit_ready

    return _change(ShardWrites, "commit_ready", change)


def _do_nothing(_: int) -> None:
    """What was done too early is not done again."""


def snapshot_without_topic_settings() -> Any:
    """A snapshot of the metadata lacks the settings of topics."""

    def change(original: Any) -> Any:
        def to_records(self: ConfigsImage) -> Any:
            return (record for record in original(self) if record.resource_type != ResourceType.TOPIC)

        return to_records

    return _change(ConfigsImage, "to_records", change)


def _bug(plant: Callable[[], Any], *symptoms: AnomalyKind) -> tuple[str, PlantedBug]:
    return plant.__name__, PlantedBug(plant, frozenset(symptoms), LoneNode)


PLANTED = dict(
    (
        _bug(acknowledge_before_the_write, AnomalyKind.LOST_WRITE, AnomalyKind.VANISHED_READ),
        # The records that are cut off with the damage were committed, and others come to their offsets.
        _bug(
            recovery_point_too_far,
            AnomalyKind.LOST_WRITE,
            AnomalyKind.VANISHED_READ,
            AnomalyKind.INCONSISTENT_OFFSET,
            AnomalyKind.TORN_TRANSACTION,
        ),
        _bug(producer_snapshot_stale, AnomalyKind.DUPLICATE),
        # The offsets of a copy are a part of its transactions: if they alone are torn off, it skips or repeats.
        _bug(
            marker_before_records,
            AnomalyKind.TORN_TRANSACTION,
            AnomalyKind.DUPLICATE,
            AnomalyKind.COPY_SKIP,
            AnomalyKind.COPY_AHEAD,
        ),
        _bug(offset_answered_before_committed, AnomalyKind.COMMITTED_OFFSET_WENT_BACK),
        _bug(truncated_index_trusted, AnomalyKind.LOST_WRITE, AnomalyKind.POLL_SKIP, AnomalyKind.VANISHED_READ),
        _bug(compaction_drops_a_live_key, AnomalyKind.STALE_KEY),
        # Whoever reads to the watermark waits for records that do not come.
        _bug(watermark_ahead_after_a_torn_tail, AnomalyKind.NO_PROGRESS, AnomalyKind.END_OFFSET_WENT_BACK),
        _bug(sequence_window_forgotten, AnomalyKind.DUPLICATE),
        _bug(
            group_state_above_the_watermark,
            AnomalyKind.COMMITTED_OFFSET_WENT_BACK,
            AnomalyKind.PHANTOM_COMMITTED_OFFSET,
        ),
        _bug(snapshot_without_topic_settings, AnomalyKind.LOST_CHANGE),
    )
)
