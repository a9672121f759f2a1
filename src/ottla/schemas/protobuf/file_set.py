"""A schema's file with all that it imports, in a pool of descriptors of its own.

The pool that protobuf shares among all of a process is never used: two schemas may give one name to two messages.
"""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from ottla.schemas.errors import InvalidSchema


@dataclass(frozen=True, slots=True)
class FileSet:
    """Each file comes after those that it imports; the schema's own is the last."""

    files: tuple[FileDescriptorProto, ...]
    pool: DescriptorPool

    @property
    def main(self) -> FileDescriptorProto:
        return self.files[-1]


def link(files: list[FileDescriptorProto]) -> FileSet:
    """InvalidSchema if the files do not fit together."""
    pool = DescriptorPool()
    for file in files:
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            raise InvalidSchema(f"the descriptor of {file.name} is not valid: {error}") from None
    return FileSet(tuple(files), pool)
