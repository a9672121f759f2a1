"""Broker heartbeats: a broker says that it lives, how far it has followed the metadata, and what it wants (KIP-631).

    fenced     -> unfenced, when it has followed its own registration and does not want to stay fenced
    unfenced   -> fenced, if it wants that
    unfenced   -> in controlled shutdown, if it wants to stop and leads something that another can lead
    shutdown   -> may stop, when it leads nothing that another could lead, and every active broker has followed the
                  records that moved its leaderships away

The last condition spares clients a leader that does not know yet that it leads. Until it may stop, the broker goes on
to serve what only it can lead.

A heartbeat also names directories that failed: their replicas leave the in-sync sets, and others lead (KIP-858).
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.metadata.controller.brokers import fence_broker, known_broker, unfence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partitions import (
    changes_when_broker_leaves,
    changes_without_directories,
    leads_anything,
)
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.decision import Decision
from ottla.metadata.image import NO_LEADER, BrokerImage, ClusterImage, apply_records
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.schema import Message

_FENCE, _ENTER_SHUTDOWN = 1, 1


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """`metadata_offset` is the newest offset that the broker has applied. `cordoned_log_dirs` are its directories that
    get no new partitions, None if it says nothing about them (KIP-1066)."""

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    wants_fence: bool = False
    wants_shutdown: bool = False
    offline_log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool = False


def answer_heartbeat(
    image: ClusterImage, heartbeat: Heartbeat, *, sessions: BrokerSessions, rules: ElectionRules
) -> Decision[HeartbeatResult]:
    """Fences, unfences or lets go of the broker, as it asks and as far as it has caught up."""
    broker = known_broker(image, heartbeat.broker_id, heartbeat.broker_epoch)
    directories = [
        *_take_offline(image, broker, heartbeat.offline_log_dirs, rules),
        *_cordon(broker, heartbeat.cordoned_log_dirs),
    ]
    if directories:
        # Nothing that lies on a failed directory may be given to the broker in the same step.
        image, _ = apply_records(image, directories, end_offset=image.end_offset, epoch=image.epoch)
        broker = known_broker(image, heartbeat.broker_id, heartbeat.broker_epoch)
    decided = _next_state(image, broker, heartbeat, sessions, rules)
    return Decision([*directories, *decided.records], decided.response, is_atomic=False)


def _next_state(
    image: ClusterImage, broker: BrokerImage, heartbeat: Heartbeat, sessions: BrokerSessions, rules: ElectionRules
) -> Decision[HeartbeatResult]:
    # A broker that has not seen its own registration yet knows nothing about this cluster.
    is_caught_up = heartbeat.metadata_offset >= sessions.registration_offset(broker)
    if broker.is_fenced:
        if heartbeat.wants_shutdown:
            return Decision([], HeartbeatResult(is_caught_up, is_fenced=True, should_shut_down=True))
        if heartbeat.wants_fence or not is_caught_up:
            return Decision([], HeartbeatResult(is_caught_up, is_fenced=True))
        records = unfence_broker(image, broker.id, broker.epoch, rules=rules).records
        return Decision(records, HeartbeatResult(is_caught_up, is_fenced=False))
    if heartbeat.wants_fence:
        records = fence_broker(image, broker.id, broker.epoch, rules=rules).records
        return Decision(records, HeartbeatResult(is_caught_up, True, heartbeat.wants_shutdown))
    if heartbeat.wants_shutdown or broker.is_in_controlled_shutdown:
        return _controlled_shutdown(image, broker, is_caught_up, sessions, rules)
    return Decision([], HeartbeatResult(is_caught_up, is_fenced=False))


def _controlled_shutdown(
    image: ClusterImage, broker: BrokerImage, is_caught_up: bool, sessions: BrokerSessions, rules: ElectionRules
) -> Decision[HeartbeatResult]:
    changes = changes_when_broker_leaves(image, broker.id, rules)
    to_others = [change for change in changes if change.leader != NO_LEADER]
    stays = HeartbeatResult(is_caught_up, is_fenced=False)
    if broker.is_in_controlled_shutdown:
        if to_others:
            return Decision(to_others, stays)
        if not sessions.all_have_followed_shutdown(image, broker):
            return Decision([], stays)
    elif to_others and leads_anything(image, broker.id):
        enter = BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=_ENTER_SHUTDOWN
        )
        return Decision([enter, *to_others], stays)
    # No other broker can take what it still leads, so waiting longer would not help.
    fence = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_FENCE)
    return Decision([*changes, fence], HeartbeatResult(is_caught_up, is_fenced=True, should_shut_down=True))


def _take_offline(
    image: ClusterImage, broker: BrokerImage, offline: tuple[bytes, ...], rules: ElectionRules
) -> list[Message]:
    failed = frozenset(offline).intersection(broker.log_dirs)
    if not failed:
        return []
    online = [directory for directory in broker.log_dirs if directory not in failed]
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=online)
    return [*changes_without_directories(image, broker.id, failed, rules), change]


def _cordon(broker: BrokerImage, cordoned: tuple[bytes, ...] | None) -> list[Message]:
    if cordoned is None or (broker.cordoned_log_dirs or ()) == cordoned:
        return []
    return [
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned))
    ]
