"""The life of a broker, as the controller manages it.

    registers            -> fenced, with a new epoch                                          (registration)
    has caught up        -> unfenced: may lead, is shown to clients                           (heartbeats)
    misses its session   -> fenced                                                            (sessions)
    asks to shut down    -> in controlled shutdown: its leaderships move away, then fenced    (heartbeats)
    is unregistered      -> gone, until it registers again

The epoch differs for every life of the process, and requests of an earlier life are refused. This module has the steps
that the others share.
"""

from __future__ import annotations

from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partitions import (
    changes_when_broker_leaves,
    changes_when_broker_loses_records,
    changes_when_broker_returns,
)
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord

_FENCE, _UNFENCE = 1, -1


def known_broker(image: ClusterImage, broker_id: int, broker_epoch: int) -> BrokerImage:
    """The broker, if the epoch is that of its present life; ApiError otherwise."""
    broker = registered_broker(image, broker_id)
    if broker.epoch != broker_epoch:
        raise ApiError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Broker {broker_id} has epoch {broker.epoch}, not {broker_epoch}",
        )
    return broker


def registered_broker(image: ClusterImage, broker_id: int) -> BrokerImage:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
    return broker


def fence_broker(image: ClusterImage, broker_id: int, broker_epoch: int, *, rules: ElectionRules) -> Decision[None]:
    """Others lead instead of the broker. It is marked as fenced last: if only a part of many records is written before
    the controller dies, the next one finds it unfenced and does the rest."""
    broker = known_broker(image, broker_id, broker_epoch)
    if broker.is_fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_FENCE)
    return Decision([*changes_when_broker_leaves(image, broker_id, rules), change], None, is_atomic=False)


def unfence_broker(image: ClusterImage, broker_id: int, broker_epoch: int, *, rules: ElectionRules) -> Decision[None]:
    broker = known_broker(image, broker_id, broker_epoch)
    if not broker.is_fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=_UNFENCE)
    return Decision([change, *changes_when_broker_returns(image, broker_id, rules)], None, is_atomic=False)


def unregister_broker(image: ClusterImage, broker_id: int, *, rules: ElectionRules) -> Decision[None]:
    """Removes a broker for good: it is in no in-sync set and not eligible any more. A living one comes back."""
    broker = registered_broker(image, broker_id)
    record = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision([*changes_when_broker_loses_records(image, broker_id, rules), record], None, is_atomic=False)
