from ottla.metadata.controller.features import (
    BOOTSTRAP_LEVELS,
    NEWEST_METADATA_VERSION,
    SUPPORTED,
    finalized_levels,
    unsupported_level,
)
from ottla.metadata.image import ClusterImage
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from unit.metadata.clusters import applied


def with_level(name: str, level: int) -> ClusterImage:
    return applied(ClusterImage(), [FeatureLevelRecord(name=name, feature_level=level)])


def test_the_quorums_own_version_is_among_the_finalized_levels() -> None:
    image = with_level("metadata.version", 30)
    assert finalized_levels(image, 1) == {"metadata.version": 30, "kraft.version": 1}
    assert finalized_levels(image, 0) == {"metadata.version": 30}


def test_a_level_of_zero_is_no_level() -> None:
    image = applied(with_level("group.version", 1), [FeatureLevelRecord(name="group.version", feature_level=0)])
    assert finalized_levels(image, 0) == {}


def test_what_a_new_cluster_starts_with_is_supported() -> None:
    for name, level in BOOTSTRAP_LEVELS.items():
        assert SUPPORTED[name].minimum <= level <= SUPPORTED[name].maximum
    assert unsupported_level(with_level("metadata.version", NEWEST_METADATA_VERSION)) is None


def test_levels_beyond_this_release_are_named() -> None:
    assert "metadata.version is finalised at 31" in (unsupported_level(with_level("metadata.version", 31)) or "")
    assert "future.version" in (unsupported_level(with_level("future.version", 1)) or "")
    assert "older than 7" in (unsupported_level(with_level("metadata.version", 3)) or "")
