"""ControllerRegistration: a controller tells where it listens and which features it knows (KIP-919).

The registration is of one incarnation of the process; a controller that starts anew replaces its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, VersionRange
from ottla.metadata.image.kept_records import CONTROLLER
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from ottla.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from ottla.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)

# 3.7-IV0, from which on the log may hold registrations of controllers.
OLDEST_METADATA_VERSION = 15


def register_controller(
    image: ClusterImage, request: ControllerRegistrationRequest
) -> Decision[ControllerRegistrationResponse]:
    if image.metadata_version < OLDEST_METADATA_VERSION:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Controllers register from metadata.version {OLDEST_METADATA_VERSION} on; it is {image.metadata_version}",
        )
    if request.zk_migration_ready:
        raise ApiError(ErrorCode.INVALID_REQUEST, "There is no ZooKeeper to migrate from")
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        end_points=[
            ControllerEndpoint(name=x.name, host=x.host, port=x.port, security_protocol=x.security_protocol)
            for x in request.listeners
        ],
        features=[
            ControllerFeature(
                name=x.name,
                min_supported_version=x.min_supported_version,
                max_supported_version=x.max_supported_version,
            )
            for x in request.features
        ],
    )
    return Decision([record], ControllerRegistrationResponse(error_message=None))


def registered_controllers(image: ClusterImage) -> Iterator[RegisterControllerRecord]:
    """The newest registration of each controller."""
    for record in image.kept.of(CONTROLLER):
        assert isinstance(record, RegisterControllerRecord)
        yield record


def features_of(controller: RegisterControllerRecord) -> dict[str, VersionRange]:
    return {x.name: VersionRange(x.min_supported_version, x.max_supported_version) for x in controller.features}
