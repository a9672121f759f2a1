"""Message classes as a program has them that was built with protoc, made from texts at run time."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc


def message_class(name: str, files: Mapping[str, str]) -> Any:
    """The class of a message that one of the files defines; they may import each other and Google's own."""
    google = Path(protoc.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory() as directory:
        for path, text in files.items():
            (Path(directory) / path).write_text(text)
        described = Path(directory) / "described"
        options = [f"-I{directory}", f"-I{google}", "--include_imports", f"--descriptor_set_out={described}"]
        assert protoc.main(["protoc", *options, *files]) == 0
        pool = DescriptorPool()
        for file in FileDescriptorSet.FromString(described.read_bytes()).file:
            pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))
