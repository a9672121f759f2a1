"""What AlterConfigs and IncrementalAlterConfigs have in common before the controller is asked.

A broker checks first what it can check alone: repeated rows, repeated keys, null values, and whether a broker resource
names this broker. The controller gets the rest, and every row gets an answer.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Protocol

from ottla.metadata.controller.topic_names import check_topic_name
from ottla.metadata.image import ResourceType
from ottla.protocol.errors import ApiError, ErrorCode


class AlteredConfig(Protocol):
    name: str
    value: str | None


class AlteredResource(Protocol):
    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[AlteredConfig]: ...


class Refusals:
    """The rows of a request that are refused here, each with its reason."""

    def __init__(
        self, resources: Sequence[AlteredResource], node_id: int, *, locally_served: Collection[int] = ()
    ) -> None:
        self._node_id = node_id
        self._served = locally_served
        self._counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)

    def check(self, resource: AlteredResource, needing_value: Sequence[AlteredConfig]) -> None:
        """ApiError when a row is refused; `needing_value` are the configs that must not be null."""
        if self._counts[(resource.resource_type, resource.resource_name)] > 1:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        nulls = [config.name for config in needing_value if config.value is None]
        if nulls:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(nulls)}")
        names = [config.name for config in resource.configs]
        if len(set(names)) < len(names):
            raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        self._check_name(resource.resource_type, resource.resource_name)

    def _check_name(self, resource_type: int, name: str) -> None:
        if resource_type == ResourceType.TOPIC:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            check_topic_name(name)
        elif resource_type == ResourceType.BROKER:
            if name and self._node_id != node_id_of(name):
                raise ApiError(
                    ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {self._node_id}, but received {name}"
                )
        elif resource_type == ResourceType.GROUP:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        elif resource_type == ResourceType.CLIENT_METRICS:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        elif resource_type not in self._served:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")


def node_id_of(name: str) -> int:
    """The node that a broker resource names."""
    try:
        return int(name)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
