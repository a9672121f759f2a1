import pytest

from ottla.cli.exits import CommandError, UsageError
from ottla.cli.words.config_texts import parse_bracket_list, parse_settings


def test_a_value_may_hold_anything() -> None:
    assert parse_settings("-c", ["a = 1", "b=x=y,z", "c="]) == {"a": "1", "b": "x=y,z", "c": ""}


@pytest.mark.parametrize(("given", "reason"), [(["a"], "write KEY=VALUE"), (["=1"], "write KEY=VALUE")])
def test_a_setting_needs_a_name_and_a_value(given: list[str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_settings("-c", given)


def test_a_setting_is_set_once() -> None:
    with pytest.raises(UsageError, match="a is set twice"):
        parse_settings("--set", ["a=1", "a=2"])


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=1", {"a": "1"}),
        ("a=1, b = 2", {"a": "1", "b": "2"}),
        ("a=[x,y],b=2,c=[z]", {"a": "x,y", "b": "2", "c": "z"}),
        ("match=[client_id=x,version=2]", {"match": "client_id=x,version=2"}),
        ("SCRAM-SHA-256=[iterations=4096,password=p]", {"SCRAM-SHA-256": "iterations=4096,password=p"}),
        ("a=", {"a": ""}),
    ],
)
def test_brackets_keep_a_value_with_commas_together(text: str, settings: dict[str, str]) -> None:
    assert parse_bracket_list(text) == settings


@pytest.mark.parametrize("text", ["", "a", "a=1,b"])
def test_a_list_needs_values(text: str) -> None:
    with pytest.raises(CommandError, match="must be in the format"):
        parse_bracket_list(text)
