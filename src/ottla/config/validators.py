"""The kinds of bound that a configuration value can have.

A validator is called with key and typed value and raises ConfigError; its text (`str`) is the range shown in the
reference. All of them accept None where the key itself may be unset.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ottla.config.values import ConfigError, ConfigValue, format_double, invalid

Validator = Callable[[str, ConfigValue], None]


def _bound_text(bound: float) -> str:
    return format_double(bound) if isinstance(bound, float) else str(bound)


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `minimum` to `maximum`, both included; None leaves a side open."""

    minimum: float
    maximum: float | None = None

    def __call__(self, name: str, value: ConfigValue) -> None:
        if not isinstance(value, int | float):
            raise invalid(name, value, "Value must be non-null")
        shown = format_double(value) if isinstance(value, float) else value
        if value < self.minimum:
            raise invalid(name, shown, f"Value must be at least {_bound_text(self.minimum)}")
        if self.maximum is not None and value > self.maximum:
            raise invalid(name, shown, f"Value must be no more than {_bound_text(self.maximum)}")

    def __str__(self) -> str:
        upper = "" if self.maximum is None else f",{_bound_text(self.maximum)}"
        return f"[{_bound_text(self.minimum)},...{upper}]"


@dataclass(frozen=True, slots=True)
class GzipLevel:
    """1 to 9, or -1 for the library's default: a gap that no range can express."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        if not isinstance(value, int) or (value != -1 and not 1 <= value <= 9):
            raise invalid(name, value, "Value must be between 1 and 9 or equal to -1")

    def __str__(self) -> str:
        return "[1,...,9] or -1"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]
    ignore_case: bool = False

    def __call__(self, name: str, value: ConfigValue) -> None:
        given = value.upper() if self.ignore_case and isinstance(value, str) else value
        if given not in self.words:
            kind = " (case insensitive)" if self.ignore_case else ""
            raise invalid(name, value, f"String must be one of{kind}: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"{'(case insensitive) ' if self.ignore_case else ''}[{', '.join(self.words)}]"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list without empty or repeated elements, each one of `words` if there are any."""

    words: tuple[str, ...] = ()
    allow_empty: bool = True

    def __call__(self, name: str, value: ConfigValue) -> None:
        if value is None:
            return
        assert isinstance(value, tuple)
        if not value and not self.allow_empty:
            choice = f"[{', '.join(self.words)}]" if self.words else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {choice}")
        if "" in value:
            raise ConfigError(f"Configuration '{name}' values must not be empty.")
        if len(set(value)) != len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        for element in value:
            if self.words and element not in self.words:
                raise invalid(name, element, f"String must be one of: {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]" if self.words else ""


@dataclass(frozen=True, slots=True)
class NonEmptyString:
    """Any text but none at all."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        if value == "":
            raise invalid(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


_THROTTLED_REPLICA: Final = re.compile(r"[0-9]+:[0-9]+")


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """`*`, or pairs of partition and broker."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        assert isinstance(value, tuple)
        if value != ("*",) and not all(_THROTTLED_REPLICA.fullmatch(element) for element in value):
            reason = f"{name} must be the literal '*' or a list of replicas in the following format: {self}"
            raise invalid(name, f"[{', '.join(value)}]", reason)

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


_VOTER: Final = re.compile(r"([^@]*)@(.+):([0-9]+)")
_ADDRESS: Final = re.compile(r"(.+):([0-9]+)")


@dataclass(frozen=True, slots=True)
class QuorumVoters:
    """Entries of the form id@host:port."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        assert isinstance(value, tuple)
        for entry in value:
            match = _VOTER.fullmatch(entry)
            if match is None:
                raise invalid(name, entry, "each entry should be in the form {id}@{host}:{port}")
            if not match[1].isdecimal():
                raise invalid(name, entry, f"the voter id {match[1]} before the @ is not a number")

    def __str__(self) -> str:
        return "{id}@{host}:{port}, ..."


@dataclass(frozen=True, slots=True)
class QuorumBootstrapServers:
    """Entries of the form host:port."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        assert isinstance(value, tuple)
        for entry in value:
            if not _ADDRESS.fullmatch(entry):
                raise invalid(name, entry, "each entry should be in the form {host}:{port}")

    def __str__(self) -> str:
        return "{host}:{port}, ..."


_DURATION: Final = re.compile(r"P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,9})?S)?)?")


@dataclass(frozen=True, slots=True)
class ShareOffsetReset:
    """`latest`, `earliest`, or `by_duration:` and a length of time in ISO 8601."""

    def __call__(self, name: str, value: ConfigValue) -> None:
        if value in ("latest", "earliest"):
            return
        kind, _, duration = str(value).partition(":")
        if kind != "by_duration" or not _DURATION.fullmatch(duration):
            raise invalid(name, value, f"String must be one of: {self}")

    def __str__(self) -> str:
        return "latest, earliest, by_duration:PnDTnHnMn.nS"
