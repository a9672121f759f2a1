"""`df.writeStream.format("ottla")`: micro-batches appended to topics, at least once.

The rows of a micro-batch are acknowledged by the brokers before Spark notes that it is done; one that Spark runs again
after a failure is written again as a whole. Use `ottla.pipeline.write_topic` to write each row exactly once.

Spark makes a writer for each micro-batch, and another one in the process that commits: making one must be cheap.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.errors import OptionError
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.pipeline.writing.record_columns import check_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class OttlaStreamWriter(DataSourceStreamArrowWriter):
    """Holds only the options: what a task has written needs no commit, and nothing could undo it."""

    def __init__(self, schema: "StructType", options: AppendOptions, *, overwrite: bool) -> None:
        if overwrite:
            raise OptionError(
                'output mode complete would replace what is in the topic: format("ottla") only appends, and '
                "ottla.pipeline.write_topic(df, output_mode=...) writes the results of each batch, exactly once"
            )
        if options.transactional_id is not None:
            raise OptionError(
                f"kafka.transactional.id={options.transactional_id}: a stream in transactions is "
                "ottla.pipeline.write_topic(df, name=..., ...), which writes each row exactly once"
            )
        check_columns(schema, options.topic)
        # Spark plans and commits each micro-batch in workers too.
        freeze_imports()
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        from ottla.pipeline.append.rows import append_rows

        return append_rows(iterator, self._options)
