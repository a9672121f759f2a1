"""Where Spark finds `format("ottla")`: in every package of this prefix it looks for a `DefaultSource`."""

from ottla.pipeline.data_source import OttlaDataSource as DefaultSource

__all__ = ["DefaultSource"]
