from ottla.cli.topics.changes import INTERNAL_LOSSES, internal_loss_warnings
from ottla.metadata.controller.topic_names import INTERNAL_TOPICS


def test_every_internal_topic_has_a_warning_of_what_goes_with_it() -> None:
    assert INTERNAL_LOSSES.keys() >= INTERNAL_TOPICS


def test_only_internal_topics_are_warned_of() -> None:
    (line,) = internal_loss_warnings(["orders", "__consumer_offsets"])
    assert line.startswith("__consumer_offsets is an internal topic; with it go the committed offsets of all groups")
