"""How partitions' directories are named, and what other names in a log directory mean."""

import re

from ottla.protocol.topic_partition import TopicPartition

DELETE_SUFFIX = "-delete"
FUTURE_SUFFIX = "-future"
STRAY_SUFFIX = "-stray"

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
_MARKED = re.compile(r".+-\d+\.[0-9a-f]{32}-(?:delete|future|stray)")
_MAX_NAME_BYTES = 255


def partition_directory_name(topic: str, partition: int) -> str:
    """The directory of a partition."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> TopicPartition | None:
    """The partition of a directory, None if the name is not one of a live partition."""
    match = _PARTITION.fullmatch(name)
    if match is None or _MARKED.fullmatch(name):
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def marked_directory_name(topic: str, partition: int, unique_hex: str, suffix: str) -> str:
    """Name a directory that is being moved out or in; a long topic name is cut to what file systems allow."""
    tail = f"-{partition}.{unique_hex}{suffix}"
    return topic[: _MAX_NAME_BYTES - len(tail)] + tail


def is_deleted_directory(name: str) -> bool:
    """Whether a directory waits for its removal."""
    return name.endswith(DELETE_SUFFIX) and _MARKED.fullmatch(name) is not None


def is_future_directory(name: str) -> bool:
    """Whether a directory holds the unfinished copy of a log that was moving here."""
    return name.endswith(FUTURE_SUFFIX) and _MARKED.fullmatch(name) is not None
