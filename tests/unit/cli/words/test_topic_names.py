from ottla.cli.exits import ExitCode
from ottla.cli.words.topic_names import select
from ottla.client.admin.topics import TopicListing
from ottla.protocol.uuids import ZERO_UUID

LISTED = [TopicListing(name, ZERO_UUID, name.startswith("__")) for name in ("__offsets", "a-1", "a-2", "b")]


def test_names_and_patterns_mean_each_topic_once_in_the_order_given() -> None:
    assert select(LISTED, ["b", "a-*", "a-1"]) == (["b", "a-1", "a-2"], {})


def test_patterns_never_mean_internal_topics_but_names_do() -> None:
    assert select(LISTED, ["*"])[0] == ["a-1", "a-2", "b"]
    assert select(LISTED, ["__offsets"])[0] == ["__offsets"]


def test_what_means_no_topic_is_an_error_of_its_own() -> None:
    names, missing = select(LISTED, ["b", "c", "c-*"])
    assert names == ["b"]
    assert {word: (str(error), error.code) for word, error in missing.items()} == {
        "c": ("there is no such topic", ExitCode.NOT_FOUND),
        "c-*": ("no topic matches", ExitCode.NOT_FOUND),
    }
