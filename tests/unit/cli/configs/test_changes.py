import pytest

from ottla.cli.configs.changes import danger, differences
from ottla.client import ConfigChange, ConfigOperation
from ottla.client.admin.configs import ConfigEntry, ConfigSource, ConfigSynonym


def entry(name: str, *synonyms: tuple[str, str, ConfigSource]) -> ConfigEntry:
    listed = tuple(ConfigSynonym(*synonym) for synonym in synonyms)
    return ConfigEntry(name, listed[0].value, listed[0].source, synonyms=listed)


RETENTION = entry(
    "retention.ms",
    ("retention.ms", "5000", ConfigSource.TOPIC),
    ("log.retention.hours", "168", ConfigSource.DEFAULT),
)
INHERITED = entry(
    "segment.ms",
    ("log.roll.ms", "7", ConfigSource.STATIC_BROKER),
    ("log.roll.hours", "168", ConfigSource.DEFAULT),
)
POLICY = entry("cleanup.policy", ("log.cleanup.policy", "delete", ConfigSource.DEFAULT))
ENTRIES = {found.name: found for found in (RETENTION, INHERITED, POLICY)}


def after(*changes: ConfigChange) -> dict[str, tuple[str | None, str | None]]:
    return {row.name: (row.before, row.after) for row in differences(ENTRIES, changes, ConfigSource.TOPIC)}


def test_what_is_set_replaces_what_was() -> None:
    assert after(ConfigChange("retention.ms", "1"), ConfigChange("new", "x")) == {
        "retention.ms": ("5000", "1"),
        "new": (None, "x"),
    }


def test_what_is_deleted_is_inherited_again_in_milliseconds() -> None:
    assert after(ConfigChange("retention.ms", operation=ConfigOperation.DELETE)) == {
        "retention.ms": ("5000", "604800000")
    }


def test_deleting_what_the_topic_does_not_have_changes_nothing() -> None:
    (row,) = differences(ENTRIES, [ConfigChange("segment.ms", operation=ConfigOperation.DELETE)], ConfigSource.TOPIC)
    assert (row.before, row.after, row.is_change, row.danger) == ("7", "7", False, None)


def test_lists_grow_and_shrink() -> None:
    grow = ConfigChange("cleanup.policy", "compact", ConfigOperation.APPEND)
    shrink = ConfigChange("cleanup.policy", "delete", ConfigOperation.SUBTRACT)
    assert after(grow) == {"cleanup.policy": ("delete", "delete,compact")}
    assert after(grow, shrink) == {"cleanup.policy": ("delete", "compact")}
    assert after(ConfigChange("cleanup.policy", "delete", ConfigOperation.APPEND)) == {
        "cleanup.policy": ("delete", "delete")
    }


@pytest.mark.parametrize(
    ("name", "before", "new"),
    [
        ("retention.ms", "5000", "4999"),
        ("retention.ms", "-1", "5000"),
        ("log.retention.bytes", None, "1"),
        ("cleanup.policy", "delete", "compact"),
        ("cleanup.policy", "compact", "compact,delete"),
        ("unclean.leader.election.enable", "false", "true"),
    ],
)
def test_what_removes_records_is_dangerous(name: str, before: str | None, new: str) -> None:
    assert danger(name, before, new)


@pytest.mark.parametrize(
    ("name", "before", "new"),
    [
        ("retention.ms", "5000", "5000"),
        ("retention.ms", "5000", "-1"),
        ("retention.ms", "5000", "soon"),
        ("cleanup.policy", "compact,delete", "delete"),
        ("unclean.leader.election.enable", "true", "false"),
        ("segment.bytes", "5000", "1"),
        ("retention.ms", "5000", None),
    ],
)
def test_what_keeps_records_is_not(name: str, before: str, new: str | None) -> None:
    assert danger(name, before, new) is None
