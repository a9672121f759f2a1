"""Schemas in files, as registries get them: the type by the file's suffix, references as options."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, UsageError

if TYPE_CHECKING:
    from ottla.schemas.schema import Reference, Schema

_SUFFIXES: Final = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_TYPES: Final = ("avro", "json", "protobuf")
_STDIN: Final = "-"


def add_schema_options(parser: argparse.ArgumentParser) -> None:
    """A file, and what it does not say itself."""
    parser.add_argument("file", metavar="FILE", help="the schema; - is stdin")
    parser.add_argument("--type", choices=_TYPES, help="default: by the suffix .avsc, .json or .proto")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=SUBJECT:VERSION",
        help="what the schema refers to by a name; repeatable",
    )


def read_schema(options: argparse.Namespace) -> "Schema":
    """The schema that the options of a command name."""
    return load_schema(options.file, options.type, options.reference)


def load_schema(path: str, given_type: str | None = None, references: Sequence[str] = ()) -> "Schema":
    from ottla.schemas.schema import Schema, SchemaType

    found = given_type.upper() if given_type is not None else _SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise UsageError(
            f"{path} does not say which format it is in.", f"Add --type {', '.join(_TYPES[:-1])} or {_TYPES[-1]}."
        )
    return Schema(_read(path), SchemaType(found), tuple(map(_reference, references)))


def is_schema_file(path: str) -> bool:
    return Path(path).suffix.lower() in _SUFFIXES


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == _STDIN else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not text in UTF-8.") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def _reference(text: str) -> "Reference":
    from ottla.schemas.schema import Reference

    # Names may be URIs, and subjects may have colons.
    name, equals, place = text.rpartition("=")
    subject, colon, version = place.rpartition(":")
    if not (name and equals and subject and colon and version.isascii() and version.isdecimal()):
        raise UsageError(
            f"--reference {text}: write NAME=SUBJECT:VERSION, as in --reference com.example.Address=address-value:1."
        )
    return Reference(name, subject, int(version))
