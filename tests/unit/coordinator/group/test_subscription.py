from ottla.coordinator.group.subscription import subscribed_topics
from unit.coordinator.group.playbook import subscription


def test_topics_of_all_members_are_collected_whatever_version_they_speak() -> None:
    blobs = [subscription("a", "b", version=0), subscription("b", "c", version=3)]
    assert subscribed_topics(blobs) == {"a", "b", "c"}


def test_fields_of_future_versions_are_ignored() -> None:
    assert subscribed_topics([b"\0\x63" + subscription("a")[2:] + b"more"]) == {"a"}


def test_metadata_that_is_no_subscription_makes_the_topics_unknown() -> None:
    assert subscribed_topics([subscription("a"), b"opaque"]) is None
    assert subscribed_topics([b""]) is None
