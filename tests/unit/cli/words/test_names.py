import pytest

from ottla.cli.exits import ExitCode, UsageError
from ottla.cli.words.names import parse_name_list, select_groups, select_subjects, select_topics
from ottla.client.admin.topics import TopicListing
from ottla.protocol.uuids import ZERO_UUID

TOPICS = [TopicListing(name, ZERO_UUID, name.startswith("__")) for name in ("__offsets", "a-1", "a-2", "b")]
GROUPS = ["a-1", "a-2", "b", "odd[1]"]
NAMES = ("Empty", "Ongoing")


def test_names_and_patterns_mean_each_topic_once_in_the_order_given() -> None:
    assert select_topics(TOPICS, ["b", "a-*", "a-1"]) == (["b", "a-1", "a-2"], {})


def test_patterns_never_mean_internal_topics_but_names_do() -> None:
    assert select_topics(TOPICS, ["*"])[0] == ["a-1", "a-2", "b"]
    assert select_topics(TOPICS, ["__offsets"])[0] == ["__offsets"]


def test_what_means_no_topic_is_an_error_of_its_own() -> None:
    names, missing = select_topics(TOPICS, ["b", "c", "c-*"])
    assert names == ["b"]
    assert {word: (str(error), error.code) for word, error in missing.items()} == {
        "c": ("there is no such topic", ExitCode.NOT_FOUND),
        "c-*": ("no topic matches", ExitCode.NOT_FOUND),
    }


def test_names_and_patterns_mean_each_group_once_in_the_order_given() -> None:
    assert select_groups(GROUPS, ["b", "a-*", "a-1"]) == (["b", "a-1", "a-2"], {})


def test_a_group_whose_name_looks_like_a_pattern_is_meant_by_its_name() -> None:
    assert select_groups(GROUPS, ["odd[1]"]) == (["odd[1]"], {})


def test_a_name_is_left_to_the_coordinator_and_a_pattern_without_a_match_is_an_error() -> None:
    names, missing = select_groups(GROUPS, ["c", "c-*"])
    assert names == ["c"]
    assert {word: (str(error), error.code) for word, error in missing.items()} == {
        "c-*": ("no group matches", ExitCode.NOT_FOUND)
    }


def test_names_are_found_in_any_case() -> None:
    assert parse_name_list("--state", "ongoing, EMPTY", NAMES) == ["Ongoing", "Empty"]
    assert parse_name_list("--state", None, NAMES) == []


@pytest.mark.parametrize("text", ["lost", "", "empty,"])
def test_a_name_that_is_not_there_is_told_with_those_that_are(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_name_list("--state", text, NAMES)
    assert refused.value.remedy == "Write Empty, Ongoing."


def test_a_subject_may_be_called_like_a_pattern() -> None:
    names = ["a-key", "a-value", "a[k]", "ak"]
    assert select_subjects(names, ["a-*", "a[k]", "a-key"]) == (["a-key", "a-value", "a[k]"], {})
    chosen, missing = select_subjects(names, ["nobody", "b*"])
    assert (chosen, list(missing)) == ([], ["nobody", "b*"])
    assert {error.code for error in missing.values()} == {ExitCode.NOT_FOUND}
