"""Registrations of brokers that a controller accepts."""

from typing import Any

from ottla.metadata.controller.features import SUPPORTED
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature


def registration_request(broker_id: int, cluster_id: str, **fields: Any) -> BrokerRegistrationRequest:
    """A broker of this release, with one directory."""
    given = {
        "incarnation_id": b"life" + broker_id.to_bytes(12),
        "features": [
            Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
            for name, levels in sorted(SUPPORTED.items())
        ],
        "log_dirs": [b"dir" + broker_id.to_bytes(13)],
    }
    return BrokerRegistrationRequest(broker_id=broker_id, cluster_id=cluster_id, **(given | fields))
