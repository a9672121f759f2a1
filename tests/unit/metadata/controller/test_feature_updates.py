import pytest
from immutables import Map

from ottla.metadata.controller.feature_updates import FeatureUpdate, UpgradeType, update_features
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord

IMAGE = ClusterImage(features=Map({"metadata.version": 30}))
UP, DOWN = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE


def test_a_level_goes_up_as_far_as_it_is_supported() -> None:
    decision = update_features(
        IMAGE, [FeatureUpdate("transaction.version", 2, UP)], kraft_version=1, validate_only=False
    )
    assert decision.records == [FeatureLevelRecord(name="transaction.version", feature_level=2)]


def test_nothing_is_written_for_what_holds_already_or_is_only_validated() -> None:
    same = [FeatureUpdate("metadata.version", 30, UP), FeatureUpdate("kraft.version", 1, UP)]
    assert update_features(IMAGE, same, kraft_version=1, validate_only=False).records == []
    up = [FeatureUpdate("transaction.version", 1, UP)]
    assert update_features(IMAGE, up, kraft_version=1, validate_only=True).records == []


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (FeatureUpdate("transaction.version", 3, UP), "supports 0 to 2"),
        (FeatureUpdate("transaction.version", -1, DOWN), "supports 0 to 2"),
        (FeatureUpdate("nothing.version", 1, UP), "no such feature"),
        (FeatureUpdate("metadata.version", 29, UP), "request a safe or an unsafe downgrade"),
        (FeatureUpdate("metadata.version", 29, UpgradeType.UNSAFE_DOWNGRADE), "cannot go down"),
        (FeatureUpdate("kraft.version", 0, DOWN), "cannot go down"),
        (FeatureUpdate("transaction.version", 1, DOWN), "newer version"),
        (FeatureUpdate("transaction.version", 1, 7), "not an upgrade type"),
    ],
)
def test_what_cannot_be_is_refused_and_named(update: FeatureUpdate, reason: str) -> None:
    others = [FeatureUpdate("transaction.version", 2, UP)] if update.feature != "transaction.version" else []
    with pytest.raises(ApiError, match=reason) as refused:
        update_features(IMAGE, [*others, update], kraft_version=1, validate_only=False)
    assert refused.value.code is ErrorCode.INVALID_UPDATE_VERSION
    assert update.feature in str(refused.value)
