"""Broker registration: who a broker is, and the clean-up after its former life (KIP-631, KIP-858, KIP-966).

The epoch is the offset at which the decision begins, so it differs for every life of the process. The registration is
the last record: the clean-up may take many records and several batches, and a broker that is registered must not find
traces of its former life. If the controller dies in between, the broker registers again with the next one.

If the former life ended cleanly, the new registration names its epoch: its records are on disk, and it remains eligible
where it was. Otherwise the broker may have lost records that it acknowledged, and leaves every in-sync and eligible
set; without KIP-966 the last in-sync replica stays, as always.

The same incarnation may register again to change what it told, such as its listeners; it keeps its epoch and its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.metadata.controller.election_rules import ElectionRules, has_elr
from ottla.metadata.controller.features import finalized_levels
from ottla.metadata.controller.partitions import changes_when_broker_leaves, changes_when_broker_loses_records
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokerImage, BrokersImage, ClusterImage, Endpoint, VersionRange
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from ottla.protocol.schema import Message
from ottla.protocol.uuids import uuid_to_text

# Kafka keeps the first 100 directory ids for meanings such as "unassigned" and "lost".
_RESERVED_DIRECTORY_IDS = 100
_ABSENT = VersionRange(0, 0)


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """What a broker tells the controller about itself when it starts.

    `previous_epoch` is that of its former life if that ended cleanly, None if the broker is too old to say.
    """

    broker_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, VersionRange]
    log_dirs: tuple[bytes, ...]
    rack: str | None = None
    previous_epoch: int | None = -1


def register_broker(
    image: ClusterImage,
    registration: BrokerRegistration,
    *,
    rules: ElectionRules,
    kraft_version: int = 0,
    is_local: bool = False,
    has_live_session: bool = False,
) -> Decision[int]:
    """Registers a broker, and returns its epoch. `has_live_session` is about the life that is registered now.

    `is_local` is a broker in the controller's own process. It holds the lock of its directories, so its former life is
    over, whatever its session says. Its release is that of the controller, and the node decided when it started that it
    can serve the levels in the log: directories of Apache Kafka have features at levels that this release only keeps.
    """
    existing = image.brokers.get(registration.broker_id)
    is_same_life = existing is not None and existing.incarnation_id == registration.incarnation_id
    is_alive = has_live_session and not is_local
    if existing is not None and not is_same_life and is_alive and not existing.is_in_controlled_shutdown:
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker is registered with id {registration.broker_id} and alive. If this one was just restarted, "
            "the session of its former life expires soon; otherwise ids must be unique",
        )
    if not is_local:
        _check_features(image, registration, kraft_version)
    _check_directories(image.brokers, registration)
    if existing is not None and is_same_life:
        return _amend(existing, registration)
    epoch = image.end_offset
    records = [*_clean_up(image, existing, registration, rules), _record(registration, epoch)]
    return Decision(records, epoch, is_atomic=False)


def _clean_up(
    image: ClusterImage, existing: BrokerImage | None, registration: BrokerRegistration, rules: ElectionRules
) -> list[Message]:
    was_clean = registration.previous_epoch is None or (
        existing is not None and existing.epoch == registration.previous_epoch
    )
    if was_clean or not has_elr(image):
        return [*changes_when_broker_leaves(image, registration.broker_id, rules)]
    return [*changes_when_broker_loses_records(image, registration.broker_id, rules)]


def _amend(existing: BrokerImage, registration: BrokerRegistration) -> Decision[int]:
    record = _record(registration, existing.epoch)
    record.fenced = existing.is_fenced
    record.in_controlled_shutdown = existing.is_in_controlled_shutdown
    record.cordoned_log_dirs = existing.cordoned_log_dirs
    return Decision([] if BrokerImage.of(record) == existing else [record], existing.epoch)


def _check_features(image: ClusterImage, registration: BrokerRegistration, kraft_version: int) -> None:
    for name, level in sorted(finalized_levels(image, kraft_version).items()):
        supported = registration.features.get(name, _ABSENT)
        if not supported.minimum <= level <= supported.maximum:
            raise ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Broker {registration.broker_id} cannot register: {name} is finalised at {level}, and the broker "
                f"supports {supported.minimum} to {supported.maximum}",
            )


def _check_directories(brokers: BrokersImage, registration: BrokerRegistration) -> None:
    directories = registration.log_dirs
    if not directories:
        raise _invalid("No directories specified in request")
    if any(int.from_bytes(directory) < _RESERVED_DIRECTORY_IDS for directory in directories):
        raise _invalid("Reserved directory ID in request")
    if len(set(directories)) != len(directories):
        raise _invalid("Duplicate directory ID in request")
    for broker in brokers:
        shared = set(directories).intersection(broker.log_dirs) if broker.id != registration.broker_id else ()
        for directory in sorted(shared):
            raise _invalid(f"Broker {broker.id} is already registered with directory {uuid_to_text(directory)}")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REGISTRATION, message)


def _record(registration: BrokerRegistration, epoch: int) -> RegisterBrokerRecord:
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
