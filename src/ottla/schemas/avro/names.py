"""Names of types: what they look like, and when the namespace is left out.

Java's library takes every letter of Unicode's first plane where Avro's specification has ASCII alone. Registries are
full of such names, so this one takes them too.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
# A type may have one of these names in a namespace, and is then always written with it.
_TYPE_WORDS: Final = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}


@dataclass(frozen=True, slots=True)
class Name:
    simple: str
    # Empty for none.
    space: str

    @property
    def full(self) -> str:
        return f"{self.space}.{self.simple}" if self.space else self.simple

    def seen_from(self, space: str) -> str:
        """The shortest form that means this name within a namespace."""
        return self.simple if self.space == space and self.simple not in _TYPE_WORDS else self.full


def name_of(text: str, space: str) -> Name:
    """A name as written; one with dots brings its own namespace."""
    own, dot, simple = text.rpartition(".")
    return Name(simple, own if dot else space)


def is_valid(simple: str) -> bool:
    if simple.isascii():
        # Nearly all are, and Python's own rule is the same there.
        return simple.isidentifier()
    return bool(simple) and _is_letter(simple[0]) and all(_is_letter(c) or _is_digit(c) for c in simple)


def is_valid_full(name: Name) -> bool:
    return is_valid(name.simple) and (not name.space or all(map(is_valid, name.space.split("."))))


def _is_letter(character: str) -> bool:
    return character == "_" or (character <= "\uffff" and unicodedata.category(character).startswith("L"))


def _is_digit(character: str) -> bool:
    return character <= "\uffff" and unicodedata.category(character) == "Nd"
