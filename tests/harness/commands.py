"""Command lines run in this process, with their own input and output."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ottla.cli.main import main


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left."""

    code: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


class Commands:
    """Runs `ottla` with arguments against a server; options in front of them name it."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._patch = patch

    def run(self, *arguments: str, stdin: bytes = b"") -> Done:
        self._capture.readouterr()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = self._capture.readouterr()
        return Done(code, printed.out, printed.err)


Run = Callable[..., Done]
