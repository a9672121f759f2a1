"""`format("ottla")`: what Spark asks for when a DataFrame is read from topics or appended to them.

Spark makes this object on the driver, and again in each of its helper processes; it holds the options and nothing else.
"""

from pyspark.sql.datasource import DataSource


class OttlaDataSource(DataSource):
    """The entry; readers and writers are imported when they are asked for."""

    @classmethod
    def name(cls) -> str:
        return "ottla"
