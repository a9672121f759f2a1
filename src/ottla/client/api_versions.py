"""Choosing the version of each API that a client and a broker have in common.

A broker lists what it serves in its answer to ApiVersions, and each request goes out in the highest common version.
ApiVersions itself is asked in our newest version first. A broker that does not know it answers in version 0 with error
35 and, if it follows KIP-511, with the versions of ApiVersions that it does know.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ottla.client.errors import UnsupportedByBroker
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.schema import Message

HIGHEST_API_VERSIONS = ApiVersionsRequest.VERSIONS.stop - 1


@dataclass(frozen=True, slots=True)
class FeatureLevel:
    """A feature of the cluster: what the broker supports, and which level is in force (0 if none is)."""

    name: str
    min_supported: int
    max_supported: int
    finalized: int


@dataclass(frozen=True, slots=True)
class BrokerVersions:
    """What one broker serves."""

    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    features: tuple[FeatureLevel, ...] = ()
    finalized_features_epoch: int = -1

    def level(self, feature: str) -> int:
        """The level of a feature that is in force; 0 if none is."""
        return next((found.finalized for found in self.features if found.name == feature), 0)

    def serves(self, request: type[Message]) -> bool:
        """Whether there is a common version."""
        return self._common(request) is not None

    def choose(self, request: type[Message], where: str, *, highest: int = 32767, lowest: int = 0) -> int:
        """Choose the version to send, within the caller's bounds; UnsupportedByBroker if there is none."""
        common = self._common(request)
        if common is not None:
            version = min(common[1], highest)
            if version >= max(common[0], lowest):
                return version
        raise UnsupportedByBroker(self._explain(request, where, lowest, highest))

    def _common(self, request: type[Message]) -> tuple[int, int] | None:
        offered = self.ranges.get(request.API_KEY)
        if offered is None:
            return None
        low, high = usable_versions(request)
        low, high = max(low, offered[0]), min(high, offered[1])
        return (low, high) if low <= high else None

    def _explain(self, request: type[Message], where: str, lowest: int, highest: int) -> str:
        name = request.__name__.removesuffix("Request")
        offered = self.ranges.get(request.API_KEY)
        if offered is None and ApiKey.VOTE in self.ranges and ApiKey.METADATA not in self.ranges:
            return f"{where} is a listener of controllers, which does not serve {name}: name a broker's address"
        if offered is None:
            return f"{where} does not serve {name} (API key {request.API_KEY}): a newer broker is needed"
        low, high = usable_versions(request)
        low, high = max(low, lowest), min(high, highest)
        remedy = "a newer broker" if offered[1] < low else "a newer client"
        return (
            f"{where} serves {name} in versions {offered[0]}-{offered[1]}, but {low}-{high} are needed: take {remedy}"
        )


def usable_versions(request: type[Message]) -> tuple[int, int]:
    """The first and last version that we send; one that Kafka calls unstable is never sent."""
    return request.VERSIONS.start, request.VERSIONS.stop - 1 - request.LATEST_VERSION_UNSTABLE


def versions_from(response: ApiVersionsResponse) -> BrokerVersions:
    """Convert an answer of a broker."""
    finalized = {row.name: row.max_version_level for row in response.finalized_features}
    supported = {row.name: (row.min_version, row.max_version) for row in response.supported_features}
    features = tuple(
        FeatureLevel(name, *supported.get(name, (0, 0)), finalized.get(name, 0))
        for name in sorted(supported.keys() | finalized.keys())
    )
    return BrokerVersions(_ranges(response.api_keys), features, response.finalized_features_epoch)


def fallback_version(response: ApiVersionsResponse) -> int:
    """The version of ApiVersions to try next, after a broker refused ours."""
    offered = _ranges(response.api_keys).get(ApiKey.API_VERSIONS)
    return 0 if offered is None else max(0, min(offered[1], HIGHEST_API_VERSIONS - 1))


def _ranges(rows: Iterable[ApiVersion]) -> dict[int, tuple[int, int]]:
    return {row.api_key: (row.min_version, row.max_version) for row in rows}
