"""A batch of records becomes a column, on an executor.

A record that cannot be read is bad, whatever is wrong with it: its bytes, its id, or that its schema does not go with
the reader's. A registry that does not answer is no fault of a record, and ends the task in either mode.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType, StringType, StructField, StructType

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.avro_columns import BatchColumns, Numbers, batch_columns
from ottla.pipeline.typed.column_kinds import MISFITS, Kind, arrow_type_of
from ottla.pipeline.typed.framed_batch import NO_ID, find_ids
from ottla.pipeline.typed.schema_kinds import TypingSchema, kind_of, reader_schema
from ottla.pipeline.typed.worker_registries import known_schemas
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.schemas.errors import SchemaError, UnreadableData
from ottla.schemas.format import ParsedSchema
from ottla.schemas.framing import decode_indexes, guid_in, unframe
from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryFailure, RegistryRefusal
from ottla.schemas.registry_client.record_reading import Decoded, RecordReader
from ottla.schemas.schema import Schema, SchemaType

_DECODERS_MAX: Final = 100
_IDS_MAX: Final = 10_000


def permissive_type(value_type: DataType) -> StructType:
    """Of a column in which bad records are told instead of raised."""
    return StructType([StructField("value", value_type), StructField("error", StringType())])


@functools.lru_cache(_DECODERS_MAX)
def decoder_of(typing: TypingSchema, *, is_permissive: bool) -> BatchDecoder:
    """The decoder of this process."""
    return BatchDecoder(typing, is_permissive=is_permissive)


class BatchDecoder:
    def __init__(self, typing: TypingSchema, *, is_permissive: bool) -> None:
        self._known = known_schemas(typing.settings)
        self._typing = typing
        self._is_permissive = is_permissive
        try:
            parsed = self._known.parsed(typing.schema)
            reader = reader_schema(typing, parsed)
        except SchemaError as error:
            raise PipelineError(f"{typing.schema} cannot be had: {error}") from None
        self._kind = kind_of(typing, parsed)
        subject = typing.schema.subject
        # Ids count within the context of a subject; the default one goes without saying.
        self._context = subject if subject is not None and subject.startswith(":") else None
        self._reader = RecordReader(self._known, reader, self._context)
        self._columns = _columns_of(parsed, self._kind)
        self._is_same: dict[int, bool] = {}
        self._messages: dict[tuple[Schema, tuple[int, ...]], str] = {}

    @property
    def spark_type(self) -> DataType:
        return permissive_type(self._kind.spark_type) if self._is_permissive else self._kind.spark_type

    def decode(self, records: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        """`headers` are the values of the header with the guid, or null for a record that has none."""
        batch = records.cast(pa.binary())
        pieces = self._read_columns(batch, headers)
        is_left = np.ones(len(batch), bool)
        for rows, _ in pieces:
            is_left[rows] = False
        left = np.flatnonzero(is_left)
        reasons: dict[int, str] = {}
        if left.size or not pieces:
            taken = pa.array(left)
            guids = None if headers is None else headers.take(taken)
            pieces.append((left, self._read_records(batch.take(taken), guids, left, reasons)))
        column = pieces[0][1]
        if len(pieces) > 1:
            order = np.argsort(np.concatenate([rows for rows, _ in pieces]))
            column = pa.concat_arrays([values for _, values in pieces]).take(pa.array(order))
        freeze_imports()
        if not self._is_permissive:
            return column
        errors = pa.array([reasons.get(n) for n in range(len(batch))], pa.string())
        return pa.StructArray.from_arrays([column, errors], fields=list(arrow_type_of(self.spark_type)))

    def _read_columns(self, records: pa.Array, headers: pa.Array | None) -> list[tuple[Numbers, pa.Array]]:
        """Rows that could be read all at once, and their values."""
        pieces: list[tuple[Numbers, pa.Array]] = []
        if self._columns is None:
            return pieces
        batch = find_ids(records)
        ids = batch.ids if headers is None else np.where(np.asarray(headers.is_null()), batch.ids, NO_ID)
        for schema_id in np.unique(ids[ids != NO_ID]):
            if not self._is_readers(int(schema_id)):
                continue
            rows = np.flatnonzero(ids == schema_id)
            try:
                values, is_odd = self._columns.read(batch.data, batch.at[rows], batch.end[rows])
            except (pa.ArrowException, OverflowError):
                continue
            if is_odd.any():
                kept = np.flatnonzero(~is_odd)
                rows, values = rows[kept], values.take(pa.array(kept))
            pieces.append((rows, values))
        return pieces

    def _is_readers(self, schema_id: int) -> bool:
        """Whether a schema is the one that records are read with."""
        is_same = self._is_same.get(schema_id)
        if is_same is None:
            try:
                written = self._known.client.schema_by_id(schema_id, self._context)
                if written.schema.type is not SchemaType.AVRO:
                    return False
                is_same = self._known.parsed(written).formatted("resolved") == self._typing.schema.schema.text
            except SchemaError:
                # Whoever reads the records one by one will say so.
                return False
            if len(self._is_same) >= _IDS_MAX:
                self._is_same.clear()
            self._is_same[schema_id] = is_same
        return is_same

    def _read_records(
        self, records: pa.Array, headers: pa.Array | None, rows: Numbers, reasons: dict[int, str]
    ) -> pa.Array:
        """Values of single records; why one has none is added to `reasons`, by its row."""
        given = records.to_pylist()
        guids = [None] * len(given) if headers is None else headers.to_pylist()
        values: list[Any] = []
        read = self._read_message if self._typing.schema.schema.type is SchemaType.PROTOBUF else self._reader.read
        for row, record, guid in zip(rows.tolist(), given, guids, strict=True):
            try:
                values.append(None if record is None else read(record, guid).value)
            except SchemaError as error:
                reasons[row] = self._reason(error, record, guid)
                values.append(None)
        try:
            return self._kind.column(values)
        except MISFITS:
            # Which one it was, Arrow does not say.
            pass
        for number, value in enumerate(values):
            try:
                self._kind.column([value])
            except MISFITS as error:
                misfit = UnreadableData(f"the value does not fit its column: {error}")
                reasons[int(rows[number])] = self._reason(misfit, given[number], guids[number])
                values[number] = None
        return self._kind.column(values)

    def _read_message(self, record: bytes, guid: bytes | None) -> Decoded:
        """A file may have several messages, and a column has one."""
        decoded = self._reader.read(record, guid)
        place = unframe(record).data if guid is None else guid_in(guid)[1]
        indexes, _ = decode_indexes(place)
        name = self._messages.get((decoded.schema.schema, indexes))
        if name is None:
            from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

            parsed = self._known.parsed(decoded.schema)
            assert isinstance(parsed, ProtobufSchema)
            name = self._messages[decoded.schema.schema, indexes] = parsed.message_at(indexes)
        if name != self._typing.message:
            raise UnreadableData(f"it is a {name}, and the column has the message {self._typing.message}")
        return decoded

    def _reason(self, error: SchemaError, record: bytes, guid: bytes | None) -> str:
        """Why a record is bad; PipelineError if that ends the query."""
        if isinstance(error, RegistryFailure) and not (
            isinstance(error, RegistryRefusal) and error.code in NOT_FOUND_CODES
        ):
            self._fail(f"{_schema_name(record, guid)} cannot be had: {error}")
        if not self._is_permissive:
            self._fail(f"a record with {_schema_name(record, guid)} cannot be read with {self._typing.schema}: {error}")
        return str(error)

    def _fail(self, message: str) -> NoReturn:
        raise PipelineError(message) from None


def _columns_of(parsed: ParsedSchema, kind: Kind) -> BatchColumns | None:
    from ottla.schemas.avro.avro_format import AvroSchema

    if not isinstance(parsed, AvroSchema):
        return None
    return batch_columns(parsed.document, arrow_type_of(kind.spark_type))


def _schema_name(record: bytes, guid: bytes | None) -> str:
    try:
        return f"schema id {unframe(record).id}" if guid is None else f"schema guid {guid_in(guid)[0]}"
    except UnreadableData:
        return "no schema id"
