"""Partitions by the brokers that matter to them, so that a decision about one broker costs what it touches.

Invariant: the index says exactly what the states of all partitions say, as of the last call of `changed`. It is
derived, so it is neither written nor compared, and only the image on which the active controller decides has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from immutables import Map, MapMutation

from ottla.protocol.topic_partition import TopicIdPartition

if TYPE_CHECKING:
    from ottla.metadata.image.topics import PartitionState

_Keys = Map[TopicIdPartition, None]
# A partition before and after, None where it does not exist.
PartitionChange = tuple[TopicIdPartition, "PartitionState | None", "PartitionState | None"]


@dataclass(frozen=True, slots=True)
class PartitionIndex:
    # Where a broker leads, is in sync or is eligible.
    _involved: Map[int, _Keys] = field(default_factory=Map)
    # By leader; NO_LEADER is one.
    _led: Map[int, _Keys] = field(default_factory=Map)
    # Led by another replica than the preferred one.
    _displaced: _Keys = field(default_factory=Map)

    def involving(self, broker_id: int) -> list[TopicIdPartition]:
        """The partitions that a broker leads, or where it is in sync or eligible."""
        return sorted(self._involved.get(broker_id, ()))

    def led_by(self, leader: int) -> list[TopicIdPartition]:
        return sorted(self._led.get(leader, ()))

    def leads_anything(self, broker_id: int) -> bool:
        return broker_id in self._led

    def displaced(self) -> list[TopicIdPartition]:
        """The partitions whose leader is not the preferred one."""
        return sorted(self._displaced)

    def changed(self, changes: Iterable[PartitionChange]) -> PartitionIndex:
        """The index after some changes, each of another partition."""
        involved, led = _Editing(self._involved), _Editing(self._led)
        displaced = self._displaced.mutate()
        for key, old, new in changes:
            before, after = _brokers(old), _brokers(new)
            for broker_id in before:
                if broker_id not in after:
                    involved.remove(broker_id, key)
            for broker_id in after:
                if broker_id not in before:
                    involved.add(broker_id, key)
            old_leader, new_leader = None if old is None else old.leader, None if new is None else new.leader
            if old_leader != new_leader:
                if old_leader is not None:
                    led.remove(old_leader, key)
                if new_leader is not None:
                    led.add(new_leader, key)
            if _is_displaced(new):
                displaced[key] = None
            else:
                displaced.pop(key, None)
        return PartitionIndex(involved.finish(), led.finish(), displaced.finish())


class _Editing:
    """Edits the partitions of many brokers at once: a persistent map costs much less that way."""

    def __init__(self, index: Map[int, _Keys]) -> None:
        self._index = index
        self._edited: dict[int, MapMutation[TopicIdPartition, None]] = {}

    def add(self, broker_id: int, key: TopicIdPartition) -> None:
        self._of(broker_id)[key] = None

    def remove(self, broker_id: int, key: TopicIdPartition) -> None:
        del self._of(broker_id)[key]

    def _of(self, broker_id: int) -> MapMutation[TopicIdPartition, None]:
        keys = self._edited.get(broker_id)
        if keys is None:
            keys = self._edited[broker_id] = self._index.get(broker_id, Map()).mutate()
        return keys

    def finish(self) -> Map[int, _Keys]:
        index = self._index
        for broker_id, edited in self._edited.items():
            keys = edited.finish()
            if keys:
                index = index.set(broker_id, keys)
            elif broker_id in index:
                index = index.delete(broker_id)
        return index


def _brokers(state: PartitionState | None) -> Sequence[int]:
    """Who leads, is in sync or eligible. A leader is in sync, but for the log of a controller that is damaged."""
    if state is None:
        return ()
    brokers = (*state.isr, *state.eligible_leader_replicas) if state.eligible_leader_replicas else state.isr
    return brokers if state.leader < 0 or state.leader in brokers else (*brokers, state.leader)


def _is_displaced(state: PartitionState | None) -> bool:
    return state is not None and state.leader >= 0 and state.leader != state.preferred_leader
