"""Registered brokers. Controllers are in `kept_records`.

A broker is fenced until the controller has seen it caught up and alive; only unfenced brokers lead partitions and
appear to clients. It has one epoch per life of the process: the offset at which the decision to register it begins. The
registration is the last record of that decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from immutables import Map

from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord

# Kafka's reserved ids: unassigned, and migrating from a release without directory ids. The one between is "lost".
_NOT_CHOSEN_DIRECTORIES = (bytes(16), bytes(15) + b"\x02")
_BECOMES_FENCED = 1
_BECOMES_UNFENCED = -1
_ENTERS_CONTROLLED_SHUTDOWN = 1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that a broker advertises, under the name of its listener. The security protocol is Kafka's id."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True)
class VersionRange:
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Map[str, VersionRange]
    rack: str | None
    is_fenced: bool
    is_in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    is_migrating_zk_broker: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the broker may lead and be in sync: unfenced, not in controlled shutdown."""
        return not self.is_fenced and not self.is_in_controlled_shutdown

    @property
    def is_cordoned(self) -> bool:
        """Whether no log directory takes new partitions."""
        return bool(self.cordoned_log_dirs) and set(self.log_dirs) <= set(self.cordoned_log_dirs or ())

    def endpoint(self, listener: str) -> Endpoint | None:
        """The address that the broker advertises for a listener, by the listener's name."""
        for endpoint in self.endpoints:
            if endpoint.name == listener:
                return endpoint
        return None

    def has_online_directory(self, directory: bytes) -> bool:
        """Whether the broker has this directory. A directory that is not chosen yet counts as online, and so does any
        directory of a broker that does not report its own (KIP-858)."""
        return directory in self.log_dirs or not self.log_dirs or directory in _NOT_CHOSEN_DIRECTORIES

    @staticmethod
    def of(record: RegisterBrokerRecord) -> BrokerImage:
        cordoned = record.cordoned_log_dirs
        return BrokerImage(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=tuple(Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points),
            features=Map(
                (f.name, VersionRange(f.min_supported_version, f.max_supported_version)) for f in record.features
            ),
            rack=record.rack,
            is_fenced=record.fenced,
            is_in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
            cordoned_log_dirs=None if cordoned is None else tuple(cordoned),
            is_migrating_zk_broker=record.is_migrating_zk_broker,
        )

    def changed_by(self, record: BrokerRegistrationChangeRecord) -> BrokerImage:
        fenced = {_BECOMES_FENCED: True, _BECOMES_UNFENCED: False}.get(record.fenced, self.is_fenced)
        shutdown = self.is_in_controlled_shutdown or record.in_controlled_shutdown == _ENTERS_CONTROLLED_SHUTDOWN
        cordoned = record.cordoned_log_dirs
        return replace(
            self,
            is_fenced=fenced,
            is_in_controlled_shutdown=shutdown,
            log_dirs=tuple(record.log_dirs) if record.log_dirs else self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs if cordoned is None else tuple(cordoned),
        )

    def fenced(self, is_fenced: bool) -> BrokerImage:
        return replace(self, is_fenced=is_fenced)

    def to_record(self) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.is_migrating_zk_broker,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=[
                BrokerEndpoint(name=x.name, host=x.host, port=x.port, security_protocol=x.security_protocol)
                for x in self.endpoints
            ],
            features=[
                BrokerFeature(
                    name=name,
                    min_supported_version=self.features[name].minimum,
                    max_supported_version=self.features[name].maximum,
                )
                for name in sorted(self.features)
            ],
            rack=self.rack,
            fenced=self.is_fenced,
            in_controlled_shutdown=self.is_in_controlled_shutdown,
            log_dirs=self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs,
        )


@dataclass(frozen=True, slots=True)
class BrokersImage:
    _by_id: Map[int, BrokerImage] = field(default_factory=Map)

    def get(self, broker_id: int) -> BrokerImage | None:
        found: BrokerImage | None = self._by_id.get(broker_id)
        return found

    def is_active(self, broker_id: int) -> bool:
        """Whether the broker may lead and be in sync: registered, unfenced, not in controlled shutdown."""
        broker = self.get(broker_id)
        return broker is not None and broker.is_active

    def unfenced(self) -> list[BrokerImage]:
        return [broker for broker in self if not broker.is_fenced]

    def __iter__(self) -> Iterator[BrokerImage]:
        return iter(self._by_id[broker_id] for broker_id in sorted(self._by_id))

    def __len__(self) -> int:
        return len(self._by_id)

    def with_broker(self, broker: BrokerImage) -> BrokersImage:
        return BrokersImage(self._by_id.set(broker.id, broker))

    def without(self, broker_id: int) -> BrokersImage:
        return BrokersImage(self._by_id.delete(broker_id)) if broker_id in self._by_id else self

    def to_records(self) -> Iterator[RegisterBrokerRecord]:
        for broker in self:
            yield broker.to_record()
