import pytest

from ottla.cli.exits import CommandError
from ottla.cli.words.feature_levels import level_of, level_text, levels_of, release_of, requirement
from ottla.metadata.controller.features import NEWEST_METADATA_VERSION


def test_our_newest_metadata_version_has_its_release() -> None:
    assert release_of(NEWEST_METADATA_VERSION) == "4.3-IV0"


@pytest.mark.parametrize(
    ("release", "level"), [("3.3-IV3", 7), ("3.6", 14), ("3.6.2", 14), ("4.0-IV1", 23), ("4.3", 30), ("4.4-IV0", 31)]
)
def test_releases_have_levels(release: str, level: int) -> None:
    assert level_of(release) == level


@pytest.mark.parametrize("release", ["", "4", "4.4", "3.2", "4.3-IV9"])
def test_what_is_no_release_is_told_with_the_known_ones(release: str) -> None:
    with pytest.raises(CommandError, match=r"Supported metadata\.version are: 3\.3-IV3, .*4\.3-IV0"):
        level_of(release)


def test_a_release_sets_all_features() -> None:
    assert levels_of(level_of("3.8-IV0")) == dict.fromkeys(levels_of(30), 0)
    assert levels_of(level_of("4.0"))["transaction.version"] == 2
    assert levels_of(level_of("4.3"))["streams.version"] == 1


def test_some_levels_need_others() -> None:
    assert requirement("eligible.leader.replicas.version", 1) == 23
    assert requirement("eligible.leader.replicas.version", 0) is None
    assert requirement("metadata.version", 30) is None


@pytest.mark.parametrize(("feature", "level"), [("bogus", 1), ("group.version", 2), ("metadata.version", 32)])
def test_levels_that_do_not_exist_are_errors(feature: str, level: int) -> None:
    with pytest.raises(CommandError, match=str(level) if feature != "bogus" else "Unknown feature: bogus"):
        requirement(feature, level)


def test_only_metadata_version_has_names_for_its_levels() -> None:
    assert level_text("metadata.version", 30) == "4.3-IV0"
    assert level_text("metadata.version", 99) == "99"
    assert level_text("group.version", 1) == "1"
