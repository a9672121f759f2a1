"""Lists of names on the command line."""

import pytest

from ottla.cli.exits import UsageError
from ottla.cli.words.name_lists import chosen_names

NAMES = ("Empty", "Ongoing")


def test_names_are_found_in_any_case() -> None:
    assert chosen_names("--state", "ongoing, EMPTY", NAMES) == ["Ongoing", "Empty"]
    assert chosen_names("--state", None, NAMES) == []


@pytest.mark.parametrize("text", ["lost", "", "empty,"])
def test_a_name_that_is_not_there_is_told_with_those_that_are(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen_names("--state", text, NAMES)
    assert refused.value.remedy == "Write Empty, Ongoing."
