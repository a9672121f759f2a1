"""BrokerRegistrationChangeRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class BrokerRegistrationChangeRecord(Message):
    __slots__ = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("broker_epoch", "int64", "0+", "", -1, ""),
        ("fenced", "int8", "0+", "", 0, "0+"),
        ("in_controlled_shutdown", "int8", "1+", "", 1, "1+"),
        ("log_dirs", "[]uuid", "2+", "", 2, "2+"),
        ("cordoned_log_dirs", "[]uuid", "3+", "3+", 3, "3+"),
    )
    API_KEY = 17
    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
