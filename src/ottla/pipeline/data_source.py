"""`format("ottla")`: what Spark asks for when a DataFrame is read from topics or appended to them.

Spark makes this object on the driver, and again in each of its helper processes; it holds the options and nothing else.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType


class OttlaDataSource(DataSource):
    """The entry; readers and writers are imported when they are asked for."""

    @classmethod
    def name(cls) -> str:
        return "ottla"

    def schema(self) -> StructType:
        from ottla.pipeline.source.options import includes_headers
        from ottla.pipeline.source.row_schema import spark_schema

        return spark_schema(include_headers=includes_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from ottla.pipeline.source.batch_reader import OttlaBatchReader
        from ottla.pipeline.source.options import batch_options
        from ottla.pipeline.source.row_schema import check_schema

        options = batch_options(self.options)
        check_schema(schema, include_headers=options.read.include_headers)
        return OttlaBatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from ottla.pipeline.source.options import stream_options
        from ottla.pipeline.source.row_schema import check_schema
        from ottla.pipeline.source.stream_reader import OttlaStreamReader

        options = stream_options(self.options)
        check_schema(schema, include_headers=options.read.include_headers)
        return OttlaStreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from ottla.pipeline.append.batch_writer import batch_writer
        from ottla.pipeline.append.options import append_options

        return batch_writer(schema, append_options(self.options), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from ottla.pipeline.append.options import append_options
        from ottla.pipeline.append.stream_writer import OttlaStreamWriter

        return OttlaStreamWriter(schema, append_options(self.options), overwrite=overwrite)
