"""BrokerHeartbeatRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class BrokerHeartbeatRequest(Message):
    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("broker_epoch", "int64", "0+", "", -1, ""),
        ("current_metadata_offset", "int64", "0+", "", -1, ""),
        ("want_fence", "bool", "0+", "", -1, ""),
        ("want_shut_down", "bool", "0+", "", -1, ""),
        ("offline_log_dirs", "[]uuid", "1+", "", 0, "1+"),
        ("cordoned_log_dirs", "[]uuid", "2+", "2+", 1, "2+"),
    )
    API_KEY = 63
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
