"""A column of values becomes a batch of records, on an executor."""

from __future__ import annotations

import functools
from typing import Final

import pyarrow as pa

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.schema_kinds import TypingSchema, kind_of
from ottla.pipeline.typed.worker_registries import known_schemas
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.schemas.errors import SchemaError
from ottla.schemas.registry_client.record_writing import RecordWriter

_ENCODERS_MAX: Final = 100


@functools.lru_cache(_ENCODERS_MAX)
def encoder_of(typing: TypingSchema, *, in_header: bool) -> BatchEncoder:
    """The encoder of this process."""
    return BatchEncoder(typing, in_header=in_header)


class BatchEncoder:
    def __init__(self, typing: TypingSchema, *, in_header: bool) -> None:
        self._typing = typing
        known = known_schemas(typing.settings)
        try:
            self.writer = RecordWriter(known, typing.schema, message=typing.message, in_header=in_header)
            self._kind = kind_of(typing, known.parsed(typing.schema))
        except SchemaError as error:
            raise PipelineError(f"{typing.schema} cannot be written with: {error}") from None

    def encode(self, cells: pa.Array) -> pa.Array:
        self._kind.check(cells.type, "")
        write, value_of = self.writer.write, self._kind.value
        try:
            made = [None if cell is None else write(value_of(cell)).data for cell in cells.to_pylist()]
        except SchemaError as error:
            raise PipelineError(f"a row cannot be written with {self._typing.schema}: {error}") from None
        freeze_imports()
        return pa.array(made, pa.binary())
