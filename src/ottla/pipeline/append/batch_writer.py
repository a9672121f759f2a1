"""`df.write.format("ottla").mode("append")`: a DataFrame appended to topics, each task by itself, at least once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.append.target_topics import TargetTopics
from ottla.pipeline.cluster_clients import asking, client_of
from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.record_columns import check_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class OttlaBatchWriter(DataSourceArrowWriter):
    """Holds only the options: there is nothing to commit, and nothing could undo what a task has written."""

    def __init__(self, options: AppendOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        from ottla.pipeline.append.rows import append_rows

        return append_rows(iterator, self._options)


def batch_writer(schema: "StructType", options: AppendOptions, *, overwrite: bool) -> DataSourceArrowWriter:
    """Make the writer for the options, after checking what can be checked before any task runs."""
    if overwrite:
        raise OptionError('mode("overwrite"): records in a topic cannot be replaced, use mode("append")')
    check_columns(schema, options.topic)
    if options.topic is not None:
        with asking(f"writing to {options.topic}"):
            client = client_of(options.cluster)
        TargetTopics(client, options).partition_count(options.topic)
    if options.transactional_id is None:
        return OttlaBatchWriter(options)
    from ottla.pipeline.append.transactional_writer import begin

    return begin(options, options.transactional_id)
