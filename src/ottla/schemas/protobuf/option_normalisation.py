"""One way to write options that mean the same.

Names of custom options become full names; a custom option that is set part by part becomes one aggregate; options and
keys are sorted by name; lists of one value become that value, and empty lists nothing; numbers are decimal. Confluent's
registry also cuts numbers after the third digit of their fraction, which changes what they mean; this one does not.
"""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

from ottla.schemas.protobuf.elements import Aggregate, Listed, Option, OptionValue, Word
from ottla.schemas.protobuf.option_reader import join_values
from ottla.schemas.protobuf.token_cursor import read_integer

# Whole numbers up to here are exact, and are written as such.
_WHOLE_MAX: Final = 10**15
_PART: Final = re.compile(r"\.(\([^)]*\)|[^.(]+)")


class OptionNormaliser:
    """`pool` has the schema with all that it imports."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def normalise(self, options: tuple[Option, ...], scope: str) -> tuple[Option, ...]:
        """`scope` is the full name of the message, or the package, that the options stand in."""
        named = sorted((self._with_full_name(option, scope) for option in options), key=lambda option: option.name)
        return tuple(
            option
            for _, alike in groupby(named, key=lambda option: (option.name, option.is_custom))
            for option in self._joined(list(alike))
        )

    def _joined(self, alike: list[Option]) -> list[Option]:
        extension = self._extension(alike[0].name, "") if alike[0].is_custom else None
        if extension is not None and not extension.is_repeated:
            value = alike[0].value
            for option in alike[1:]:
                value = self._merge(extension.message_type, value, option.value)
            alike = [Option(alike[0].name, value, is_custom=True)]
        return [Option(one.name, _plain(one.value), one.is_custom, one.rest) for one in alike]

    def _with_full_name(self, option: Option, scope: str) -> Option:
        extension = self._extension(option.name, scope) if option.is_custom else None
        if extension is None:
            return option
        value = option.value
        for part in reversed(_PART.findall(option.rest)):
            key = f"[{part[1:-1]}]" if part.startswith("(") else part
            value = Aggregate(((key, value),))
        return Option(extension.full_name, self._with_full_keys(value, scope), is_custom=True)

    def _extension(self, name: str, scope: str) -> FieldDescriptor | None:
        """An extension as a name in a scope means it: the innermost one."""
        if name.startswith("."):
            name, scope = name[1:], ""
        while True:
            try:
                found: FieldDescriptor = self._pool.FindExtensionByName(f"{scope}.{name}" if scope else name)
            except KeyError:
                if not scope:
                    return None
                scope = scope.rpartition(".")[0]
            else:
                return found

    def _merge(self, message: Descriptor | None, first: OptionValue, second: OptionValue) -> OptionValue:
        """Two values of one field, which its parts were set in."""
        if message is None or not isinstance(first, Aggregate) or not isinstance(second, Aggregate):
            return second
        items = dict(first.items)
        for key, value in second.items:
            if key not in items:
                items[key] = value
                continue
            field = self._extension(key[1:-1], "") if key.startswith("[") else message.fields_by_name.get(key)
            if field is None or field.is_repeated:
                items[key] = join_values(items[key], value)
            else:
                items[key] = self._merge(field.message_type, items[key], value)
        return Aggregate(tuple(items.items()))

    def _with_full_keys(self, value: OptionValue, scope: str) -> OptionValue:
        """The same value with full names of extensions, so that those that mean the same are the same."""
        if isinstance(value, Listed):
            return Listed(tuple(self._with_full_keys(one, scope) for one in value.values))
        if isinstance(value, Aggregate):
            return Aggregate(
                tuple((self._full_key(key, scope), self._with_full_keys(one, scope)) for key, one in value.items)
            )
        return value

    def _full_key(self, key: str, scope: str) -> str:
        extension = self._extension(key[1:-1], scope) if key.startswith("[") else None
        return key if extension is None else f"[{extension.full_name}]"


def _plain(value: OptionValue) -> OptionValue:
    if isinstance(value, Word):
        return Word(normalise_number(value.text))
    if isinstance(value, Listed):
        values = tuple(map(_plain, value.values))
        return values[0] if len(values) == 1 else Listed(values)
    if isinstance(value, Aggregate):
        items = ((key, _plain(one)) for key, one in value.items)
        return Aggregate(tuple(sorted((item for item in items if item[1] != Listed(())), key=lambda item: item[0])))
    return value


def normalise_number(text: str) -> str:
    """A number in decimals, without an exponent where it is whole; what is no number stays."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    if not digits[:1].isdigit() and digits[:1] != ".":
        return text
    try:
        return sign + str(read_integer(digits))
    except ValueError:
        pass
    try:
        number = float(digits)
    except ValueError:
        return text
    if math.isinf(number):
        return text
    return sign + (str(int(number)) if number.is_integer() and number < _WHOLE_MAX else repr(number))
