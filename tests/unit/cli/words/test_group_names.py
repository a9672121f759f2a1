from ottla.cli.exits import ExitCode
from ottla.cli.words.group_names import select

LISTED = ["a-1", "a-2", "b", "odd[1]"]


def test_names_and_patterns_mean_each_group_once_in_the_order_given() -> None:
    assert select(LISTED, ["b", "a-*", "a-1"]) == (["b", "a-1", "a-2"], {})


def test_a_group_whose_name_looks_like_a_pattern_is_meant_by_its_name() -> None:
    assert select(LISTED, ["odd[1]"]) == (["odd[1]"], {})


def test_a_name_is_left_to_the_coordinator_and_a_pattern_without_a_match_is_an_error() -> None:
    names, missing = select(LISTED, ["c", "c-*"])
    assert names == ["c"]
    assert {word: (str(error), error.code) for word, error in missing.items()} == {
        "c-*": ("no group matches", ExitCode.NOT_FOUND)
    }
