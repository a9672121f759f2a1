"""The parsers of Ottla's own commands: argparse without the guesses that a command line should not make.

Abbreviated options are refused: `--exec` must not carry out what only `--execute` may. A word that begins with a minus
and a digit is a value, since times are written `-15m` and shifts `-10`; no option begins like that.
"""

import argparse
import importlib
import re
import textwrap
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from ottla.cli.kafka import TOOLS

_NEGATIVE_VALUE: Final = re.compile(r"-\.?\d")


class _WholeWords(argparse.HelpFormatter):
    """Help that breaks no line within a name like `kafka-console-consumer`: names are there to be copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        words = " ".join(text.split())
        return textwrap.fill(words, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which learns its arguments from the command's module when it is called."""

    module_name: str | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": _WholeWords, **settings}, allow_abbrev=False)
        self._negative_number_matcher = _NEGATIVE_VALUE

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        self.learn()
        return super().parse_known_args(args, namespace)

    def learn(self) -> None:
        """Load the arguments, once."""
        if self.module_name is not None:
            importlib.import_module(self.module_name).add_arguments(self)
            self.module_name = None

    def learn_commands(self, words: Sequence[str]) -> None:
        """Load the arguments of the commands below that are among the words."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word in action.choices.keys() & set(words):
                    action.choices[word].learn()

    def chosen(self, options: argparse.Namespace) -> "CommandParser":
        """Find the parser of the command and verb on the line, as far as the line names them."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                name = getattr(options, action.dest, None)
                return self if name is None else action.choices[name].chosen(options)
        return self

    def refuse_words(self, words: Sequence[str]) -> NoReturn:
        """Refuse words that are not arguments, and show the usage."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        meant = "".join(_meant(word.partition("=")[0], options) for word in words if word.startswith("--"))
        self.error(f"unrecognized arguments: {' '.join(words)}{meant and '.'}{meant}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(self.no_such_word(value, list(action.choices)))
        super()._check_value(action, value)

    def no_such_word(self, word: str, known: Sequence[str]) -> str:
        """The message for an unknown verb."""
        return f"no such verb: {word}.{_meant(word, known)} Verbs: {', '.join(known)}."


class MainParser(CommandParser):
    """The parser of all commands."""

    def no_such_word(self, word: str, known: Sequence[str]) -> str:
        tools = sorted(TOOLS)
        return (
            f"no such command: {word}.{_meant(word, [*known, *tools])} Commands: {', '.join(known)}. "
            f"Apache's tools: {', '.join(tools)}."
        )


def _meant(word: str, known: Sequence[str]) -> str:
    from ottla.config.spelling import closest

    found = closest(word, known)
    return "" if found is None else f" Did you mean {found}?"
