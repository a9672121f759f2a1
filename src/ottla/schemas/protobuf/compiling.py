"""protoc, called in this process: it decides what is valid, and gives descriptors.

grpcio-tools has three ways to it. A process (`python -m grpc_tools.protoc`) takes 46 ms before it has read anything.
`run_main` runs in this process, but writes its complaints to the standard error of all threads. `get_protos`, which
this module uses, raises them with line and column, and returns the Python modules that protoc would have written,
in which the descriptors are literals: 1 to 3 ms for a small file, 14 ms if it imports descriptor.proto. It holds the
interpreter's lock meanwhile (another thread waited for 0.22 s of 0.34), and shares nothing between calls but the
filters of Python's warnings, which it warns by: a lock guards these.

protoc reads files. It gets a directory of its own with the text and its references, then the files that come with this
package and with grpcio-tools, and takes no path that leads out of them. A text that does not name its syntax gets the
line that it means: protoc would log each time that it misses it.
"""

from __future__ import annotations

import ast
import re
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_tools import _protoc_compiler

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.source_tokens import split

# The name that Confluent gives a schema's own file, which has none.
_MAIN_FILE: Final = "default"
# What the registry's clients import without a reference: google/type and confluent, and google/protobuf.
_BUILT_IN: Final = (Path(__file__).parent / "include", Path(grpc_tools.__file__).parent / "_proto")
_PATH_LENGTH_MAX: Final = 255
_PATH: Final = re.compile(r"[\w+@=,~ -][\w.+@=,~ -]*(?:/[\w+@=,~ -][\w.+@=,~ -]*)*", re.ASCII)
_LITERAL: Final = re.compile(rb"\.AddSerializedFile\((b'(?:[^'\\]|\\.)*')\)")
_MESSAGES_MAX: Final = 10
_MISSING_SYNTAX: Final = 'syntax = "proto2"; '
_FILTERS: Final = threading.Lock()


def compile_file(source: str, references: Mapping[str, str]) -> list[FileDescriptorProto]:
    """The descriptors of a text and of all that it imports, each after those that it needs: its own is the last.

    InvalidSchema with what protoc says.
    """
    main = free_name(references)
    with tempfile.TemporaryDirectory(prefix="ottla-protoc-") as directory:
        root = Path(directory)
        for name, text in {**references, main: source}.items():
            _write(root, _checked(name), _prefix_of(text) + text.removeprefix("\ufeff"))
        include = [str(path).encode() for path in (root, *_BUILT_IN)]
        try:
            modules = _generate(main, include)
        except _protoc_compiler.ProtocErrors as error:
            raise InvalidSchema(_message(error.args[0], {**references, main: source}, main)) from None
    return [_descriptor_in(module) for _, module in modules]


def free_name(references: Mapping[str, str]) -> str:
    """A name for a schema's own file that none of its references has."""
    name = _MAIN_FILE
    while name in references:
        name += "_"
    return name


def _generate(main: str, include: list[bytes]) -> Sequence[tuple[bytes, bytes]]:
    with _FILTERS, warnings.catch_warnings():
        # Matters of taste, such as two names that differ in capitals alone.
        warnings.simplefilter("ignore", _protoc_compiler.ProtocWarning)
        modules: Sequence[tuple[bytes, bytes]] = _protoc_compiler.get_protos(main.encode(), include)
    return modules


def _checked(name: str) -> str:
    if len(name) > _PATH_LENGTH_MAX or not _PATH.fullmatch(name):
        raise InvalidSchema(
            f"a reference is named {name[:_PATH_LENGTH_MAX]!r}: it must be the path of an import, "
            f"such as 'orders/customer.proto', without empty parts and without '..'"
        )
    return name


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise InvalidSchema(f"{name!r} is the path of a file and of a directory at once; rename a reference") from None


def _descriptor_in(module: bytes) -> FileDescriptorProto:
    """The literal in a generated module."""
    literal = _LITERAL.search(module)
    if literal is None:
        raise InvalidSchema("protoc has written a module without a descriptor")
    data: bytes = ast.literal_eval(literal.group(1).decode("ascii"))
    return FileDescriptorProto.FromString(data)


def _prefix_of(source: str) -> str:
    return "" if next(split(source), "") in ("syntax", "edition") else _MISSING_SYNTAX


def _message(errors: Sequence[_protoc_compiler.ProtocError], sources: Mapping[str, str], main: str) -> str:
    """protoc counts from 0, people and their editors from 1."""
    parts = []
    for error in errors[:_MESSAGES_MAX]:
        file = error.filename.decode("utf-8", "replace")
        place = "" if file == main else f"{file}: "
        if error.line >= 0:
            shift = len(_prefix_of(sources.get(file, ""))) if error.line == 0 else 0
            place += f"line {error.line + 1}, column {max(error.column - shift, 0) + 1}: "
        parts.append(place + error.message.decode("utf-8", "replace"))
    if len(errors) > _MESSAGES_MAX:
        parts.append(f"and {len(errors) - _MESSAGES_MAX} more")
    return "; ".join(parts)
