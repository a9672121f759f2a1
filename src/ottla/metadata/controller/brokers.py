"""The life of a broker, as the controller manages it.

    registers            -> fenced, with a new epoch
    has caught up        -> unfenced: may lead, is shown to clients
    misses its session   -> fenced
    asks to shut down    -> in controlled shutdown: its leaderships move away, then it may stop (fenced)

The epoch is the offset at which the registration is written, so it differs for every life of the process, and
requests of an earlier life are refused. Sessions live in memory only: after a change of controller every broker gets
a full session timeout to show up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partitions import (
    changes_when_broker_leaves,
    changes_when_broker_returns,
    leads_anything,
)
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokerImage, ClusterImage, Endpoint, VersionRange
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from ottla.protocol.schema import Message

_FENCE, _UNFENCE, _ENTER_SHUTDOWN = 1, -1, 1


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """What a broker tells the controller about itself when it starts."""

    broker_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    log_dirs: tuple[bytes, ...]
    rack: str | None = None


@dataclass(slots=True)
class BrokerSessions:
    """When each broker was last heard of (monotonic time); soft state of the active controller."""

    session_timeout_ms: int = 9000
    _last_seen_ms: dict[int, int] = field(default_factory=dict)

    def touch(self, broker_id: int, now_ms: int) -> None:
        self._last_seen_ms[broker_id] = now_ms

    def is_alive(self, broker_id: int, now_ms: int) -> bool:
        seen = self._last_seen_ms.get(broker_id)
        return seen is not None and now_ms - seen < self.session_timeout_ms

    def forget(self, broker_id: int) -> None:
        self._last_seen_ms.pop(broker_id, None)

    def expired(self, image: ClusterImage, now_ms: int) -> list[int]:
        """Unfenced brokers whose session has expired. A broker that was never heard of starts its session now."""
        stale = []
        for broker in image.brokers.unfenced():
            self._last_seen_ms.setdefault(broker.id, now_ms)
            if not self.is_alive(broker.id, now_ms):
                stale.append(broker.id)
        return stale


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a broker tells the controller while it runs.

    `metadata_offset` is the newest offset that it has applied. `cordoned_log_dirs` are its directories that get no new
    partitions, None if it says nothing about them (KIP-1066).
    """

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    wants_fence: bool = False
    wants_shutdown: bool = False
    cordoned_log_dirs: tuple[bytes, ...] | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def register_broker(
    image: ClusterImage,
    registration: BrokerRegistration,
    *,
    rules: ElectionRules,
    has_live_session: bool = False,
) -> Decision[int]:
    """Registers a broker, and returns its new epoch. An incarnation that asks again gets the epoch that it has."""
    existing = image.brokers.get(registration.broker_id)
    records: list[Message] = []
    if existing is not None:
        if existing.incarnation_id == registration.incarnation_id:
            return Decision([], existing.epoch)
        if has_live_session:
            raise ApiError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"Another broker is registered with id {registration.broker_id} and alive; ids must be unique",
            )
        # Its former life may have lost records that it acknowledged: it leads again only after an election.
        records += changes_when_broker_leaves(image, registration.broker_id, rules)
    epoch = image.end_offset
    return Decision([_registration_record(registration, epoch), *records], epoch)


def answer_heartbeat(image: ClusterImage, heartbeat: Heartbeat, *, rules: ElectionRules) -> Decision[HeartbeatResult]:
    """Fences, unfences or lets go of the broker, as it asks and as far as it has caught up."""
    broker = known_broker(image, heartbeat.broker_id, heartbeat.broker_epoch)
    decided = _next_state(image, broker, heartbeat, rules)
    return Decision([*_cordon(broker, heartbeat.cordoned_log_dirs), *decided.records], decided.response)


def _next_state(
    image: ClusterImage, broker: BrokerImage, heartbeat: Heartbeat, rules: ElectionRules
) -> Decision[HeartbeatResult]:
    # A broker that has not seen its own registration yet knows nothing about this cluster.
    is_caught_up = heartbeat.metadata_offset >= broker.epoch
    if broker.is_fenced:
        if heartbeat.wants_shutdown:
            return Decision([], HeartbeatResult(is_caught_up, True, True))
        if heartbeat.wants_fence or not is_caught_up:
            return Decision([], HeartbeatResult(is_caught_up, True, False))
        records = unfence_broker(image, broker.id, broker.epoch, rules=rules).records
        return Decision(records, HeartbeatResult(True, False, False))
    if heartbeat.wants_shutdown:
        return _controlled_shutdown(image, broker, is_caught_up, rules)
    if heartbeat.wants_fence:
        records = fence_broker(image, broker.id, broker.epoch, rules=rules).records
        return Decision(records, HeartbeatResult(is_caught_up, True, False))
    return Decision([], HeartbeatResult(is_caught_up, False, False))


def unfence_broker(image: ClusterImage, broker_id: int, broker_epoch: int, *, rules: ElectionRules) -> Decision[None]:
    broker = known_broker(image, broker_id, broker_epoch)
    if not broker.is_fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_UNFENCE)
    return Decision([change, *changes_when_broker_returns(image, broker_id, rules)], None)


def fence_broker(image: ClusterImage, broker_id: int, broker_epoch: int, *, rules: ElectionRules) -> Decision[None]:
    broker = known_broker(image, broker_id, broker_epoch)
    if broker.is_fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_FENCE)
    return Decision([change, *changes_when_broker_leaves(image, broker_id, rules)], None)


def _cordon(broker: BrokerImage, cordoned: tuple[bytes, ...] | None) -> list[Message]:
    if cordoned is None or (broker.cordoned_log_dirs or ()) == cordoned:
        return []
    return [
        BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned))
    ]


def unregister_broker(image: ClusterImage, broker_id: int, *, rules: ElectionRules) -> Decision[None]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision([*changes_when_broker_leaves(image, broker_id, rules), record], None)


def known_broker(image: ClusterImage, broker_id: int, broker_epoch: int) -> BrokerImage:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")
    if broker.epoch != broker_epoch:
        raise ApiError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Broker {broker_id} has epoch {broker.epoch}, not {broker_epoch}",
        )
    return broker


def _controlled_shutdown(
    image: ClusterImage, broker: BrokerImage, is_caught_up: bool, rules: ElectionRules
) -> Decision[HeartbeatResult]:
    """Moves the broker's leaderships away; when none can move any more, the broker may stop."""
    records: list[Message] = []
    moves = changes_when_broker_leaves(image, broker.id, rules)
    can_move = [change for change in moves if change.leader >= 0]
    if can_move or not broker.is_in_controlled_shutdown:
        if not broker.is_in_controlled_shutdown:
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=_ENTER_SHUTDOWN
                )
            )
        records += can_move
    if can_move and leads_anything(image, broker.id):
        return Decision(records, HeartbeatResult(is_caught_up, False, False))
    # No other broker can take what it still leads, so waiting longer would not help.
    records.append(BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_FENCE))
    records += [change for change in moves if change.leader < 0]
    return Decision(records, HeartbeatResult(is_caught_up, True, True))


def _registration_record(registration: BrokerRegistration, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=registration.broker_id,
        incarnation_id=registration.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=x.name, host=x.host, port=x.port, security_protocol=x.security_protocol)
            for x in registration.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
            for name, levels in sorted(registration.features.items())
        ],
        rack=registration.rack,
        fenced=True,
        log_dirs=registration.log_dirs,
    )
