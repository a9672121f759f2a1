"""`from_registry` and `to_registry`: a column of bytes gets the type of a registered schema, and a typed one its bytes.

The schema is fetched on the driver, when the column is made: a query keeps it for as long as it runs. What executors
need travels in the function and not in the plan, which Spark shows to everybody; it may have a password in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ottla.pipeline.errors import OptionError
from ottla.pipeline.typed.registry_access import (
    Registry,
    Version,
    explaining,
    find_text,
    find_version,
    open_registry,
)

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_MODES: Final = ("FAILFAST", "PERMISSIVE")
_IDS: Final = ("prefix", "header")


def from_registry(
    col: Column | str,
    subject: str,
    version: Version = "latest",
    *,
    registry: Registry,
    mode: str = "FAILFAST",
    message: str | None = None,
    headers: Column | str | None = None,
    is_key: bool = False,
) -> Column:
    """Decode records that were written with schemas of a registry, as a version of a subject sees them.

    `registry` is its address, or several with commas between them, or properties by the names of Confluent's clients.
    With `mode="FAILFAST"` a record that cannot be read ends the query; with `"PERMISSIVE"` the column is a struct of
    `value`, which is null for such a record, and `error`, which says why. `message` is the full name of a Protobuf
    message, if the first one of the file is not meant. `headers` are those of the records: where they have the guid of
    a schema, for the key or the value, it counts instead of the id in front of the data.
    """
    from pyspark.sql import functions as F

    if mode.upper() not in _MODES:
        raise OptionError(f"mode={mode!r} is not one of {', '.join(_MODES)}")
    is_permissive = mode.upper() == "PERMISSIVE"
    with explaining(f"from_registry of {subject}"):
        from ottla.pipeline.typed.decoding import decoder_of
        from ottla.pipeline.typed.schema_kinds import typing_schema

        known = open_registry(registry)
        typing = typing_schema(known, find_version(known, subject, version), message)
        spark_type = decoder_of(typing, is_permissive=is_permissive).spark_type

    def from_registry(*columns: pa.Array) -> pa.Array:
        return decoder_of(typing, is_permissive=is_permissive).decode(*columns)

    arguments = [_column(col)]
    if headers is not None:
        name = F.lit(_header_name(is_key=is_key))
        carrying = F.filter(_column(headers), lambda header: header["key"] == name)
        arguments.append(F.get(carrying, F.lit(0))["value"])
    return _arrow_function(from_registry, spark_type)(*arguments)


def to_registry(
    col: Column | str,
    subject: str,
    version: Version | None = None,
    *,
    registry: Registry,
    schema: str | None = None,
    schema_type: str = "AVRO",
    register: bool = False,
    message: str | None = None,
    ids: str = "prefix",
    is_key: bool = False,
) -> Column:
    """Encode a column with a version of a subject, by default the latest, or with the one that has the text `schema`.

    With `register=True` that text becomes a version if it is none yet. `registry` and `message` are as in
    `from_registry`. A struct's fields go by their names. The column is bytes with the schema's id in front; with
    `ids="header"` it is a struct of `value` (or `key`, with `is_key`) and `headers`, the columns of a record.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType

    if ids not in _IDS:
        raise OptionError(f"ids={ids!r} is not one of {', '.join(_IDS)}")
    if schema is None and register:
        raise OptionError("register=True registers the text of a schema: give it as schema")
    if schema is not None and version is not None:
        raise OptionError("version and schema both say what to write with: give one of them")
    in_header = ids == "header"
    with explaining(f"to_registry of {subject}"):
        from ottla.pipeline.typed.encoding import encoder_of
        from ottla.pipeline.typed.schema_kinds import typing_schema

        known = open_registry(registry)
        if schema is None:
            found = find_version(known, subject, "latest" if version is None else version)
        else:
            found = find_text(known, subject, schema, schema_type, registers=register)
        typing = typing_schema(known, found, message)
        header = encoder_of(typing, in_header=in_header).writer.header

    def to_registry(*columns: pa.Array) -> pa.Array:
        return encoder_of(typing, in_header=in_header).encode(*columns)

    cells = _column(col)
    data = _arrow_function(to_registry, BinaryType())(cells)
    if header is None:
        return data
    pair = F.struct(F.lit(_header_name(is_key=is_key)).alias("key"), F.lit(header).alias("value"))
    carried = F.when(cells.isNotNull(), F.array(pair))
    return F.struct(data.alias("key" if is_key else "value"), carried.alias("headers"))


def _arrow_function(function: Callable[..., Any], spark_type: DataType) -> Callable[..., Column]:
    """A function of whole columns, as its annotations say; its name is what plans show."""
    # PySpark's own annotations do not know it.
    functions: Any = importlib.import_module("pyspark.sql.functions")
    made: Callable[..., Column] = functions.arrow_udf(function, spark_type)
    return made


def _column(given: Column | str) -> Column:
    from pyspark.sql import functions as F

    return F.col(given) if isinstance(given, str) else given


def _header_name(*, is_key: bool) -> str:
    from ottla.schemas.framing import KEY_HEADER, VALUE_HEADER

    return KEY_HEADER if is_key else VALUE_HEADER
