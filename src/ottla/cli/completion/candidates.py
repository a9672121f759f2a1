"""Completing a command line, by the parsers that will read it.

The shell runs `ottla` with the line in its environment (argcomplete's protocol). Only the parser of the command in the
line loads its arguments, so that a key press costs no more than a command. Options are offered once the user has begun
one, files where an argument is a file, and Apache's tools once the user has begun the name of one.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from argcomplete.completers import BaseCompleter, FilesCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line

from ottla.cli.command_parser import CommandParser
from ottla.cli.completion.cluster_names import group_names, subject_names, topic_names
from ottla.cli.kafka import TOOLS, run_tool

Completer = Callable[..., Sequence[str]]

# These read their words themselves: the shell offers files.
_WITHOUT_PARSER: Final = ("kafka-run-class", "kafka-server-start")
_FILE_WORDS: Final = ("FILE", "DIR", "PATH", "server.properties")


class _Reached(Exception):
    """Raised where a tool would read its line."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


class _Nothing(BaseCompleter):
    """Offers nothing, for values that cannot be guessed."""

    def __call__(self, **_: object) -> list[str]:
        return []


class _Finder(CompletionFinder):
    def collect_completions(
        self, active_parsers: list[argparse.ArgumentParser], parsed_args: argparse.Namespace, cword_prefix: str
    ) -> list[str]:
        found: list[str] = super().collect_completions(active_parsers, parsed_args, cword_prefix)
        if len(active_parsers) == 1 and isinstance(active_parsers[0], CommandParser) and cword_prefix.startswith("k"):
            tools = [tool for tool in TOOLS if tool.startswith(cword_prefix)]
            self._display_completions |= dict.fromkeys(tools, "one of Apache's tools")
            found += tools
        return found


def complete(parser: CommandParser) -> NoReturn:
    """Answer the shell and end."""
    words = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))[3][1:]
    tool = words[0].removesuffix(".sh") if words else ""
    chosen: argparse.ArgumentParser = parser
    if tool in TOOLS:
        if tool in _WITHOUT_PARSER:
            os._exit(1)
        chosen = _parser_of(tool)
        # The tool's name stands where a program's would.
        os.environ["_ARGCOMPLETE"] = str(int(os.environ["_ARGCOMPLETE"]) + 1)
    else:
        parser.learn_commands(words)
    offer(chosen)
    _Finder()(chosen, always_complete_options=False, default_completer=_Nothing())
    raise AssertionError("the shell was answered")


def offer(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> None:
    """Tell each argument of a parser, and of those below it, where its values come from."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                offer(below, (*path, name))
        elif (completer := _completer(path, action)) is not None:
            # argcomplete looks for it there.
            action.completer = completer  # type: ignore[attr-defined]


def _completer(path: tuple[str, ...], action: argparse.Action) -> Completer | None:
    if path == ("topics", "create"):
        return _Nothing() if action.dest == "topics" else None
    if action.dest in ("topic", "topics"):
        return topic_names
    if action.dest == "group":
        return group_names
    if action.dest in ("subject", "subjects"):
        return subject_names
    if action.dest == "names" and path[:1] == ("configs",):
        return _entity_names
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest
    return FilesCompleter() if metavar in _FILE_WORDS else None


def _entity_names(*, prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Whose settings: depends on the word before."""
    kind = getattr(parsed_args, "type", None)
    if kind == "topics":
        return topic_names(prefix=prefix, parsed_args=parsed_args)
    return group_names(parsed_args=parsed_args) if kind == "groups" else []


def _parser_of(tool: str) -> argparse.ArgumentParser:
    """A tool makes its parser when it runs: it runs up to there."""

    def reach(self: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        raise _Reached(self)

    original = argparse.ArgumentParser.parse_known_args
    argparse.ArgumentParser.parse_known_args = reach  # type: ignore[method-assign]
    try:
        run_tool(tool, ["--help"])
    except _Reached as reached:
        return reached.parser
    finally:
        argparse.ArgumentParser.parse_known_args = original  # type: ignore[method-assign]
    raise AssertionError(f"{tool} has no parser")
