"""What Spark has recorded about a query: its id, the batches that it planned, and the offsets that they cover.

A checkpoint is a directory on whatever file system Hadoop knows. `metadata` names the query; `offsets/<batch>` is
written before a batch runs: a version, a line about the query, then a line for each source. What a Kafka source writes
there, ours and Spark's own alike, is `{"topic": {"0": 23}}`: the next offset of each partition.
"""

import json
from typing import TYPE_CHECKING, Any

from ottla.pipeline.errors import PipelineError
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES_BEFORE_SOURCES = 2


class Checkpoint:
    """Reads a checkpoint through Spark's own file systems."""

    def __init__(self, spark: "SparkSession", location: str) -> None:
        self.location = location
        self._query_id: str | None = None
        jvm: Any = spark._jvm
        # Kept, because each part of a name costs a call to the JVM.
        self._path_class = jvm.org.apache.hadoop.fs.Path
        self._text_of = jvm.org.apache.commons.io.IOUtils.toString
        self._root = self._path_class(location)
        self._files = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def query_id(self) -> str | None:
        """The id of the query; None before its first start."""
        if self._query_id is None and (text := self._read("metadata")) is not None:
            try:
                self._query_id = str(json.loads(text)["id"])
            except (ValueError, TypeError, KeyError):
                raise PipelineError(
                    f"the file metadata of the checkpoint {self.location} is damaged: restore it from a copy, or start "
                    "with a new checkpoint"
                ) from None
        return self._query_id

    def planned(self, batch_id: int) -> str:
        """Read what Spark has recorded about a batch before it ran."""
        text = self._read(f"offsets/{batch_id}")
        if text is None:
            raise PipelineError(f"the checkpoint {self.location} has no file offsets/{batch_id}: it was deleted")
        return text

    def last_planned(self) -> int:
        """The highest number of a batch that Spark has recorded; -1 if there is none."""
        path = self._path_class(self._root, "offsets")
        if not self._files.exists(path):
            return -1
        names = (status.getPath().getName() for status in self._files.listStatus(path))
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def _read(self, name: str) -> str | None:
        path = self._path_class(self._root, name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._text_of(stream, "UTF-8"))
        finally:
            stream.close()


def topic_offsets(planned: str) -> dict[TopicPartition, int]:
    """Parse the offsets of topics in the text of a planned batch; what other sources wrote there is left out.

    Of two sources that read one partition, the one that is behind counts: a group must not commit more than was read.
    """
    found: dict[TopicPartition, int] = {}
    for line in planned.splitlines()[_LINES_BEFORE_SOURCES:]:
        try:
            _collect(json.loads(line), found)
        except ValueError:
            continue  # "-" where a source had nothing yet
    return found


def _collect(value: object, found: dict[TopicPartition, int]) -> None:
    if not isinstance(value, dict):
        return
    for topic, partitions in value.items():
        if isinstance(partitions, dict) and partitions and all(_is_offset(*row) for row in partitions.items()):
            for number, offset in partitions.items():
                where = TopicPartition(topic, int(number))
                found[where] = min(offset, found.get(where, offset))
        else:
            # Sources with names are one level deeper.
            _collect(partitions, found)


def _is_offset(partition: str, offset: object) -> bool:
    return partition.isdigit() and isinstance(offset, int) and offset >= 0
