"""A place in the tokens of a .proto text, for those who read declarations from it."""

from __future__ import annotations

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.literals import read_literal
from ottla.schemas.protobuf.source_tokens import split


class TokenCursor:
    """Whatever is not there when it must be is InvalidSchema; protoc has most often said so before, and better."""

    def __init__(self, source: str) -> None:
        self._tokens = list(split(source))
        self._position = 0

    @property
    def peeked(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def peek_after(self, count: int = 1) -> str:
        """The token after the next one, or further on."""
        position = self._position + count
        return self._tokens[position] if position < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peeked
        if not token:
            raise InvalidSchema("the text ends within a declaration; a bracket or a semicolon is missing")
        self._position += 1
        return token

    def take_if(self, token: str) -> bool:
        if self.peeked != token:
            return False
        self._position += 1
        return True

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise InvalidSchema(f"expected {token!r} and found {found!r}")

    def take_name(self) -> str:
        """A name with its dots, as it is written: `.a.b.C`."""
        parts = [self.take()] if self.peeked == "." else []
        parts.append(self.take())
        while self.peeked == ".":
            parts += (self.take(), self.take())
        return "".join(parts)

    def take_integer(self) -> int:
        sign = -1 if self.take_if("-") else 1
        token = self.take()
        try:
            return sign * read_integer(token)
        except ValueError:
            raise InvalidSchema(f"expected a number and found {token!r}") from None

    @property
    def is_at_literal(self) -> bool:
        return self.peeked[:1] in ("'", '"') and len(self.peeked) > 1

    def take_literal(self) -> bytes:
        """One literal, or several in a row, which are one."""
        if not self.is_at_literal:
            raise InvalidSchema(f"expected a text in quotes and found {self.peeked!r}")
        data = b""
        while self.is_at_literal:
            data += read_literal(self.take())
        return data

    def take_text(self) -> str:
        return self.take_literal().decode("utf-8", "replace")


def read_integer(token: str) -> int:
    """A number as .proto source writes it: decimal, 0x, or octal with a leading 0. ValueError if it is none."""
    is_octal = len(token) > 1 and token[0] == "0" and token.isdigit()
    return int(token, 8) if is_octal else int(token, 0)
