"""A struct's fields as they are in one version: what both compilers of the codec work from."""

import sys
from dataclasses import dataclass

from ottla.protocol.schema import Message, version_bounds

# Types of fixed size and their `struct` letters.
FIXED_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field in one version of its message."""

    name: str
    type: str
    is_nullable: bool
    tag: int  # -1 for a field in its place

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_fixed(self) -> bool:
        return self.type in FIXED_FORMATS

    @property
    def is_struct(self) -> bool:
        return not self.is_array and not self.is_fixed and self.type not in ("string", "bytes", "records")


def fields_in(cls: type[Message], version: int) -> list[Field]:
    """The fields that are on the wire in that version, tagged ones by tag after the others."""
    fields = []
    for name, kind, versions, nullable, tag, tagged in cls.FIELDS:
        if not _contains(versions, version):
            continue
        is_tagged = tag >= 0 and _contains(tagged, version)
        fields.append(Field(name, kind, _contains(nullable, version), tag if is_tagged else -1))
    return sorted(fields, key=lambda field: field.tag)


def absent_fields(cls: type[Message], version: int) -> list[str]:
    """The names of the fields that this version does not carry."""
    return [row[0] for row in cls.FIELDS if not _contains(row[2], version)]


def struct_class(cls: type[Message], name: str) -> type[Message]:
    """The class of a struct that a field of `cls` names."""
    found: type[Message] = getattr(sys.modules[cls.__module__], name)
    return found


def smallest_size(cls: type[Message], kind: str, version: int, *, is_flexible: bool) -> int:
    """The least number of bytes that a value of this type takes, at least 1: the bound on an array's count."""
    if kind in FIXED_SIZES:
        return FIXED_SIZES[kind]
    if kind == "string":
        return 1 if is_flexible else 2
    if kind in ("bytes", "records") or kind.startswith("[]"):
        return 1 if is_flexible else 4
    total = 1 if is_flexible else 0
    for field in fields_in(struct_class(cls, kind), version):
        if field.tag < 0:
            is_null_struct = (
                field.is_nullable
                and field.type not in FIXED_SIZES
                and field.type not in ("string", "bytes", "records")
                and not field.is_array
            )
            total += 1 if is_null_struct else smallest_size(cls, field.type, version, is_flexible=is_flexible)
    return max(total, 1)


def _contains(versions: str, version: int) -> bool:
    low, high = version_bounds(versions)
    return low <= version <= high
