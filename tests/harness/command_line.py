"""Running `ottla` in this process, and one of Apache's tools beside it against the same server."""

import re
from dataclasses import dataclass

import pytest

from harness.clients.java_client import JavaClient, Printed
from ottla.cli.main import main


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`ottla` with the output that it leaves."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Printed:
        self.capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = self.capsys.readouterr()
        return Printed(int(code), out, err)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The same line for Apache's tool and for ours: exit code and stdout must be the same.

    Lines may come in another order, because Apache's come in that of a hash table. What follows the name of an
    exception is its own sentence.
    """

    java: JavaClient
    ottla: CommandLine

    def __call__(self, tool: str, main_class: str, *arguments: str) -> Printed:
        theirs = self.java.tool(main_class, *arguments)
        ours = self.ottla(tool, *arguments)
        assert (ours.code, comparable(ours.out)) == (theirs.code, comparable(theirs.out)), (arguments, ours, theirs)
        return ours


def comparable(out: str) -> list[str]:
    return sorted(re.sub(r"(Exception:|failed due to|is invalid:) .*", r"\1", line) for line in out.splitlines())
