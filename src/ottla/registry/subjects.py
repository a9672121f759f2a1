"""The names of subjects, and the contexts that qualify them.

`orders-value` is a subject of the default context, which is named `.`; `:.sales:orders-value` is one of context
`.sales`. A context alone (`:.sales:`) stands for all its subjects where settings are concerned. Each context counts its
own ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ottla.registry.errors import invalid_subject

DEFAULT_CONTEXT: Final = "."
# Prefixes of subjects in searches: those of all contexts.
ALL_CONTEXTS: Final = ":*:"
_DELIMITER: Final = ":"
_PREFIX: Final = ":."
# Names that mean something else where Confluent's registry keeps settings.
_RESERVED: Final = ("__GLOBAL", "__EMPTY")
_LENGTH_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Subject:
    """A qualified name; the name is empty if a whole context is meant."""

    context: str
    name: str

    def __str__(self) -> str:
        if self.context == DEFAULT_CONTEXT and self.name:
            return self.name
        return f"{_DELIMITER}{self.context}{_DELIMITER}{self.name}"

    @property
    def whole_context(self) -> str:
        """What stands for all subjects of the context."""
        return f"{_DELIMITER}{self.context}{_DELIMITER}"


def parse_subject(text: str) -> Subject:
    if not text.startswith(_PREFIX):
        return Subject(DEFAULT_CONTEXT, text)
    context, _, name = text[1:].partition(_DELIMITER)
    return Subject(context, name)


def context_of(subject: str) -> str:
    return parse_subject(subject).context


def check_subject(text: str, *, may_be_context: bool = False) -> str:
    """The subject, in the one form in which it is stored. RegistryError if it is none; a whole context is none, unless
    settings are concerned."""
    if not text or len(text) > _LENGTH_MAX or any(not letter.isprintable() and letter != " " for letter in text):
        raise invalid_subject(text[:_LENGTH_MAX])
    subject = parse_subject(text)
    if subject.name in _RESERVED or not (subject.name or may_be_context):
        raise invalid_subject(text)
    return str(subject)


def read_context(text: str) -> str:
    """A context as requests name it: `.sales`, `sales` or `:.sales:`. RegistryError if it cannot be one."""
    name = text.strip(_DELIMITER)
    context = name if name.startswith(DEFAULT_CONTEXT) else f"{DEFAULT_CONTEXT}{name}"
    if _DELIMITER in context:
        raise invalid_subject(text)
    return context_of(check_subject(Subject(context, "").whole_context, may_be_context=True))


def qualify(subject: str, parent: str) -> str:
    """What a schema of subject `parent` means by a subject that it refers to: one of its own context, unless it says
    otherwise."""
    context = context_of(parent)
    if subject.startswith(_PREFIX) or context == DEFAULT_CONTEXT:
        return str(parse_subject(subject))
    return str(Subject(context, subject))
