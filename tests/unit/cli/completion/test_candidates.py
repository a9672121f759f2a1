import argparse

import pytest
from argcomplete.completers import FilesCompleter

from ottla.cli.command_parser import CommandParser
from ottla.cli.completion.candidates import _WITHOUT_PARSER, _parser_of, offer
from ottla.cli.completion.cluster_names import group_names, subject_names, topic_names
from ottla.cli.kafka import TOOLS
from ottla.cli.main import _parser


def arguments(*path: str) -> dict[str, argparse.Action]:
    """The arguments of a command, or of a verb, after completers were given to them."""
    parser = _parser()
    parser.learn_commands(path)
    offer(parser)
    for word in path:
        (below,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        found = below.choices[word]
        assert isinstance(found, CommandParser)
        parser = found
    return {action.dest: action for action in parser._actions}


def completer(action: argparse.Action) -> object:
    return getattr(action, "completer", None)


@pytest.mark.parametrize(
    ("path", "argument", "expected"),
    [
        (("topics", "describe"), "topics", topic_names),
        (("consume",), "topics", topic_names),
        (("produce",), "topic", topic_names),
        (("consume",), "group", group_names),
        (("groups", "reset"), "group", group_names),
        (("groups", "reset"), "topic", topic_names),
        (("schemas", "list"), "subjects", subject_names),
        (("schemas", "check"), "subject", subject_names),
        (("topics", "list"), "output", None),
    ],
)
def test_names_of_the_cluster_are_offered_where_they_are_meant(
    path: tuple[str, ...], argument: str, expected: object
) -> None:
    assert completer(arguments(*path)[argument]) is expected


def test_files_are_offered_where_an_argument_is_one() -> None:
    assert isinstance(completer(arguments("topics", "list")["client_config"]), FilesCompleter)
    assert isinstance(completer(arguments("produce")["files"]), FilesCompleter)


def test_a_topic_that_is_to_be_made_is_not_one_that_exists() -> None:
    offers = completer(arguments("topics", "create")["topics"])
    assert callable(offers)
    assert offers(prefix="", parsed_args=argparse.Namespace()) == []


@pytest.mark.parametrize("tool", sorted(TOOLS.keys() - set(_WITHOUT_PARSER)))
def test_every_tool_gives_its_parser_without_doing_anything(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    original = argparse.ArgumentParser.parse_known_args
    assert isinstance(_parser_of(tool), argparse.ArgumentParser)
    assert argparse.ArgumentParser.parse_known_args is original
    assert capsys.readouterr() == ("", "")
