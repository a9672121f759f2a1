"""AlterReplicaLogDirsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class AlterReplicaLogDirTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AlterReplicaLogDir(Message):
    __slots__ = ("path", "topics")
    FIELDS = (
        ("path", "string", "0+", "", -1, ""),
        ("topics", "[]AlterReplicaLogDirTopic", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        path: str = "",
        topics: Sequence[AlterReplicaLogDirTopic] = (),
    ) -> None:
        self.path = path
        self.topics = topics


class AlterReplicaLogDirsRequest(Message):
    __slots__ = ("dirs",)
    FIELDS = (
        ("dirs", "[]AlterReplicaLogDir", "0+", "", -1, ""),
    )
    API_KEY = 34
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        dirs: Sequence[AlterReplicaLogDir] = (),
    ) -> None:
        self.dirs = dirs
