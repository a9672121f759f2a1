"""Topics as Spark DataFrames, through PySpark (the extra `spark`), on Ottla and on Apache Kafka alike.

`format("ottla")` reads and appends in any Spark session; `write_topic` writes a stream exactly once; `from_registry`
and `to_registry` give records the types of registered schemas. Names are loaded when they are first used, because Spark
is large.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.pipeline.errors import PipelineError
    from ottla.pipeline.failures import explain_failure
    from ottla.pipeline.progress import show_progress
    from ottla.pipeline.sink.query import write_topic
    from ottla.pipeline.spark_session import session
    from ottla.pipeline.typed.registry_columns import from_registry, to_registry
    from ottla.pipeline.writing.placement import partitioned

__all__ = [
    "PipelineError",
    "explain_failure",
    "from_registry",
    "partitioned",
    "session",
    "show_progress",
    "to_registry",
    "write_topic",
]

# No module may have the name of what it exports: importing it would put the module here.
_HOMES = {
    "PipelineError": "ottla.pipeline.errors",
    "explain_failure": "ottla.pipeline.failures",
    "from_registry": "ottla.pipeline.typed.registry_columns",
    "partitioned": "ottla.pipeline.writing.placement",
    "session": "ottla.pipeline.spark_session",
    "show_progress": "ottla.pipeline.progress",
    "to_registry": "ottla.pipeline.typed.registry_columns",
    "write_topic": "ottla.pipeline.sink.query",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found: object = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found
