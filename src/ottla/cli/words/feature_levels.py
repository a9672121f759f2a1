"""The features of Kafka up to 4.3: the releases behind the levels of metadata.version, and what each release sets."""

from typing import Final

from ottla.cli.exits import CommandError

METADATA_VERSION: Final = "metadata.version"

# The release of each level; the first is the oldest that a 4.x node starts from, and the last is not final yet.
_FIRST_LEVEL: Final = 7
_RELEASES: Final = (
    "3.3-IV3",
    "3.4-IV0",
    *(f"3.5-IV{number}" for number in range(3)),
    *(f"3.6-IV{number}" for number in range(3)),
    *(f"3.7-IV{number}" for number in range(5)),
    "3.8-IV0",
    "3.9-IV0",
    *(f"4.0-IV{number}" for number in range(4)),
    *(f"4.1-IV{number}" for number in range(2)),
    *(f"4.2-IV{number}" for number in range(2)),
    "4.3-IV0",
    "4.4-IV0",
)
LATEST_RELEASE: Final = "4.3-IV0"

# Each feature with the level of metadata.version from which on a release sets which of its own levels.
_LEVELS_SINCE: Final = {
    "kraft.version": {21: 1},
    "transaction.version": {24: 2},
    "group.version": {22: 1},
    "eligible.leader.replicas.version": {26: 1},
    "share.version": {28: 1},
    "streams.version": {29: 1},
}
_HIGHEST: Final = {name: max(levels.values()) for name, levels in _LEVELS_SINCE.items()}
# What a level of a feature needs of metadata.version.
_REQUIRES: Final = {("eligible.leader.replicas.version", 1): 23}


def release_of(level: int) -> str | None:
    """The release that brought a level of metadata.version; None if it is not known."""
    index = level - _FIRST_LEVEL
    return _RELEASES[index] if 0 <= index < len(_RELEASES) else None


def level_of(release: str) -> int:
    """The level of metadata.version that a release has: `4.3-IV0`, or the last one of `4.3` or `4.3.1`."""
    if release in _RELEASES:
        return _FIRST_LEVEL + _RELEASES.index(release)
    short = ".".join(release.split(".")[:2])
    final = [name for name in _RELEASES[: _RELEASES.index(LATEST_RELEASE) + 1] if name.partition("-")[0] == short]
    if not final:
        known = ", ".join(_RELEASES)
        raise CommandError(f"Unknown metadata.version '{release}'. Supported metadata.version are: {known}")
    return _FIRST_LEVEL + _RELEASES.index(final[-1])


def levels_of(metadata_level: int) -> dict[str, int]:
    """The levels that a release sets for every other feature."""
    return {
        name: max((level for since, level in levels.items() if since <= metadata_level), default=0)
        for name, levels in _LEVELS_SINCE.items()
    }


def requirement(feature: str, level: int) -> int | None:
    """The level of metadata.version that a level of a feature needs; a level that does not exist is an error."""
    if feature == METADATA_VERSION:
        if release_of(level) is None:
            raise CommandError(f"Unknown metadata.version {level}")
        return None
    if feature not in _HIGHEST:
        raise CommandError(f"Unknown feature: {feature}")
    if not 0 <= level <= _HIGHEST[feature]:
        raise CommandError(f"No feature:{feature} with feature level {level}")
    return _REQUIRES.get((feature, level))


def level_text(feature: str, level: int) -> str:
    """A level as people read it: that of metadata.version by its release."""
    return (release_of(level) or str(level)) if feature == METADATA_VERSION else str(level)
