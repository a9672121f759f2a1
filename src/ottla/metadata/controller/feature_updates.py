"""UpdateFeatures: changes the levels of features, all that were asked for or none (KIP-584, KIP-1022).

A level may go up as far as this release and every registered broker and controller support it. A downgrade has to be
requested explicitly. The metadata and quorum versions never go down: what was written at their level could not be read
at a lower one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ottla.metadata.controller.controllers import features_of, registered_controllers
from ottla.metadata.controller.features import ELR_METADATA_VERSION, ELR_VERSION, KRAFT_VERSION, SUPPORTED
from ottla.metadata.controller.min_isr import agree_on_min_isr
from ottla.metadata.decision import Decision
from ottla.metadata.image import METADATA_VERSION, ClusterImage, VersionRange
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.schema import Message


class UpgradeType(IntEnum):
    """The directions in which an update may change a level."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """A request to change one level."""

    feature: str
    level: int
    upgrade_type: int


def update_features(
    image: ClusterImage,
    updates: Sequence[FeatureUpdate],
    *,
    kraft_version: int,
    min_insync_replicas: int,
    validate_only: bool,
) -> Decision[None]:
    """The records of all updates; ApiError names the first update that is refused. `min_insync_replicas` is the setting
    of the controller."""
    records: list[Message] = []
    levels = {**image.features, **{update.feature: update.level for update in updates}}
    for update in updates:
        current = kraft_version if update.feature == KRAFT_VERSION else image.features.get(update.feature, 0)
        _check(update, _refusal(update, current) or _missing_support(image, update) or _missing_level(update, levels))
        if update.level != current:
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.level))
            if update.feature == ELR_VERSION and update.level > 0:
                records += agree_on_min_isr(image, min_insync_replicas)
    return Decision([] if validate_only else records, None)


def _check(update: FeatureUpdate, reason: str | None) -> None:
    if reason is not None:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {update.level} for feature {update.feature}: {reason}",
        )


def _missing_support(image: ClusterImage, update: FeatureUpdate) -> str | None:
    """Which registered node could not live with the level."""
    nodes: list[tuple[str, Mapping[str, VersionRange]]] = [
        *((f"Broker {broker.id}", broker.features) for broker in image.brokers),
        *((f"Controller {x.controller_id}", features_of(x)) for x in registered_controllers(image)),
    ]
    for node, features in nodes:
        supported = features.get(update.feature)
        if supported is None and update.level > 0:
            return f"{node} does not support this feature"
        if supported is not None and not supported.minimum <= update.level <= supported.maximum:
            return f"{node} only supports versions {supported.minimum}-{supported.maximum}"
    return None


def _missing_level(update: FeatureUpdate, levels: Mapping[str, int]) -> str | None:
    if update.feature == ELR_VERSION and update.level > 0 and levels.get(METADATA_VERSION, 0) < ELR_METADATA_VERSION:
        return f"it needs {METADATA_VERSION} {ELR_METADATA_VERSION} or newer"
    return None


def _refusal(update: FeatureUpdate, current: int) -> str | None:
    supported = SUPPORTED.get(update.feature)
    if supported is None:
        return f"there is no such feature; there are {', '.join(sorted(SUPPORTED))}"
    if not supported.minimum <= update.level <= supported.maximum:
        return f"this release supports {supported.minimum} to {supported.maximum}"
    if update.upgrade_type not in list(UpgradeType):
        return f"{update.upgrade_type} is not an upgrade type"
    is_upgrade = update.upgrade_type == UpgradeType.UPGRADE
    if update.level < current:
        if is_upgrade:
            return f"it is {current}; request a safe or an unsafe downgrade"
        if update.feature in (KRAFT_VERSION, METADATA_VERSION):
            return f"it is {current} and cannot go down"
    if update.level > current:
        if not is_upgrade:
            return f"it is {current}, and a downgrade cannot lead to a newer version"
        if update.feature == KRAFT_VERSION:
            return "a static quorum cannot become a dynamic one yet"
    return None
