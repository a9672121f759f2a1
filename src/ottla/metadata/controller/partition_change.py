"""One change to a partition: what it should become, who leads then, and which replicas are eligible later.

Every decision about an existing partition goes through `change_partition`, so that these rules hold whoever asks:

- A leader is in sync, or eligible where nobody is in sync (KIP-966), and acceptable: its broker is active and the
  directory of its replica is online. The leader stays while it is valid; otherwise the first valid replica of the list
  leads. An election of the preferred leader looks at the first replica first.
- Replicas that leave the in-sync set while it is smaller than the minimum become eligible: they have every record that
  was committed, since nothing is committed below the minimum. The eligible set is cleared when the minimum is reached.
- If nobody is in sync and nobody is eligible, the last leader may lead again, as after any unclean election: RECOVERING
  until it reports otherwise. Where the topic allows it, so may any other acceptable replica.
- Without KIP-966 the in-sync set never becomes empty: the last member stays, and only it can bring the partition back.
- The leader epoch rises when the leader changes or a replica is removed; every change raises the partition epoch.
- A reassignment is complete when every replica that stays is in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from ottla.metadata.image import NO_LEADER, PartitionState
from ottla.metadata.image.topics import NO_LEADER_CHANGE
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord

RECOVERED, RECOVERING = 0, 1
_NO_RECOVERY_CHANGE = -1

Replicas = tuple[int, ...]


class Election(Enum):
    """How far an election may go."""

    ONLINE = "keeps the leader while it is valid"
    PREFERRED = "prefers the first replica of the list"
    UNCLEAN = "takes a replica that may lack records rather than none"


class Circumstances(NamedTuple):
    """What a change depends on beside the partition itself. `min_isr` is never above the number of replicas.

    A tuple, as `Wanted` is: when a broker is fenced, thousands are made in a turn of the event loop.
    """

    is_acceptable: Callable[[int], bool]
    default_directory: Callable[[int], bytes]
    min_isr: int
    has_elr: bool
    election: Election = Election.ONLINE


class Wanted(NamedTuple):
    """What a partition should become; None leaves a part as it is.

    `unclean_restarts` are brokers that may have lost what they had acknowledged: they cannot be eligible.
    """

    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    adding: Sequence[int] | None = None
    removing: Sequence[int] | None = None
    recovery_state: int | None = None
    directories: Mapping[int, bytes] = MappingProxyType({})
    unclean_restarts: Sequence[int] = ()


def change_partition(
    topic_id: bytes, partition_id: int, state: PartitionState, wanted: Wanted, by: Circumstances
) -> PartitionChangeRecord | None:
    """The record that brings the partition to what is wanted, with a leader that fits; None if nothing changes."""
    replicas, isr = _or(wanted.replicas, state.replicas), _or(wanted.isr, state.isr)
    adding, removing = _or(wanted.adding, state.adding_replicas), _or(wanted.removing, state.removing_replicas)
    if (adding or removing) and (completed := _completed(replicas, isr, removing)) is not None:
        replicas, isr = completed
        adding = removing = ()
    elr = _eligible(state, isr, wanted.unclean_restarts, by)
    leader, is_unclean = _elect(state, replicas, isr, elr, by)
    is_unclean = is_unclean and leader != state.leader
    if is_unclean:
        isr, elr = (leader,), ()
    elif leader != state.leader and leader in elr:
        isr, elr = (leader,), tuple(replica for replica in elr if replica != leader)
        if not by.has_elr or by.min_isr <= 1:
            # The leader alone commits from now on, and the others would not have its records.
            elr = ()
    if not isr and not by.has_elr:
        isr = state.isr
    recovery = RECOVERING if is_unclean else state.leader_recovery_state
    if wanted.recovery_state is not None:
        recovery = wanted.recovery_state
    record = PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=partition_id,
        isr=_unless(isr, state.isr),
        leader=_leader_field(state, leader, replicas),
        replicas=_unless(replicas, state.replicas),
        removing_replicas=_unless(removing, state.removing_replicas),
        adding_replicas=_unless(adding, state.adding_replicas),
        leader_recovery_state=_NO_RECOVERY_CHANGE if recovery == state.leader_recovery_state else recovery,
        directories=_directories(state, replicas, wanted.directories, by.default_directory),
        eligible_leader_replicas=_unless(elr, state.eligible_leader_replicas),
        last_known_elr=_last_known(state, isr, leader) if by.has_elr else None,
    )
    return record if _changes_anything(record) else None


def _completed(replicas: Replicas, isr: Replicas, removing: Replicas) -> tuple[Replicas, Replicas] | None:
    """Replicas and in-sync set after a reassignment, if every replica that stays is in sync."""
    staying = tuple(replica for replica in replicas if replica not in removing)
    in_sync = tuple(replica for replica in isr if replica not in removing)
    return (staying, in_sync) if in_sync and set(staying) <= set(in_sync) else None


def _eligible(state: PartitionState, isr: Replicas, unclean_restarts: Sequence[int], by: Circumstances) -> Replicas:
    """Those that have every committed record although they are not in sync.

    Where KIP-966 is off, the eligible replicas from before it was switched off can still bring the partition back.
    """
    if not by.has_elr:
        return state.eligible_leader_replicas if not isr else ()
    if len(isr) >= by.min_isr:
        return ()
    candidates = dict.fromkeys((*state.eligible_leader_replicas, *state.isr))
    return tuple(replica for replica in candidates if replica not in isr and replica not in unclean_restarts)


def _elect(
    state: PartitionState, replicas: Replicas, isr: Replicas, elr: Replicas, by: Circumstances
) -> tuple[int, bool]:
    """The leader, NO_LEADER if nobody can lead, and whether the election is unclean."""

    def is_valid(replica: int) -> bool:
        return (replica in isr or (not isr and replica in elr)) and by.is_acceptable(replica)

    candidates = (state.leader, *replicas)
    if by.election is Election.PREFERRED:
        candidates = (replicas[0], *candidates)
    for replica in candidates:
        if is_valid(replica):
            return replica, False
    last = state.last_known_elr
    if by.has_elr and not isr and not elr and len(last) == 1 and by.is_acceptable(last[0]):
        return last[0], True
    if by.election is Election.UNCLEAN:
        for replica in replicas:
            if by.is_acceptable(replica):
                return replica, True
    return NO_LEADER, False


def _leader_field(state: PartitionState, leader: int, replicas: Replicas) -> int:
    # Naming the leader anew raises the leader epoch: a replica that was removed must not be able to fetch any more.
    is_removed = replicas != state.replicas and not set(state.replicas) <= set(replicas)
    return leader if leader != state.leader or is_removed else NO_LEADER_CHANGE


def _last_known(state: PartitionState, isr: Replicas, leader: int) -> Replicas | None:
    """The one that led when the in-sync set became empty, until somebody leads again; None for no change."""
    if not isr and state.isr and state.leader != NO_LEADER:
        return _unless((state.leader,), state.last_known_elr)
    return _unless((), state.last_known_elr) if leader != NO_LEADER else None


def _directories(
    state: PartitionState, replicas: Replicas, wanted: Mapping[int, bytes], default: Callable[[int], bytes]
) -> tuple[bytes, ...] | None:
    if replicas == state.replicas and not wanted:
        return None
    known = {**dict(zip(state.replicas, state.directories, strict=True)), **wanted}
    directories = tuple(known[replica] if replica in known else default(replica) for replica in replicas)
    return None if directories == state.directories else directories


def _changes_anything(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.isr is not None
        or record.leader_recovery_state != _NO_RECOVERY_CHANGE
        or record.replicas is not None
        or record.removing_replicas is not None
        or record.adding_replicas is not None
        or record.directories is not None
        or record.eligible_leader_replicas is not None
        or record.last_known_elr is not None
    )


def _or(wanted: Sequence[int] | None, kept: Replicas) -> Replicas:
    return kept if wanted is None else tuple(wanted)


def _unless(new: Replicas, old: Replicas) -> Replicas | None:
    return None if new == old else new
