"""Encoders and decoders on fastavro. Logical types have its values: datetime, Decimal, UUID."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

from fastavro import schemaless_reader, schemaless_writer

from ottla.schemas.avro.data_bounds import Skimmer, check_depth, check_ends, is_recursive
from ottla.schemas.avro.fastavro_form import UNFIT, form_of
from ottla.schemas.avro.model import Document
from ottla.schemas.avro.resolution import VALUE, resolve
from ottla.schemas.avro.value_faults import find_fault
from ottla.schemas.errors import UnreadableData, UnwritableValue
from ottla.schemas.format import Decode, Encode


def make_encoder(document: Document) -> Encode:
    """A branch of a union is found by the value, or named in a pair of the full name and the value."""
    check_ends(document)
    form, can_be_deep = form_of(document, is_written=True), is_recursive(document)

    def encode(value: object) -> bytes:
        if can_be_deep:
            check_depth(value)
        out = BytesIO()
        try:
            schemaless_writer(out, form, value)
        except UNFIT as error:
            raise UnwritableValue(find_fault(document, value) or f"the value does not fit: {error}") from None
        return out.getvalue()

    return encode


def make_decoder(writer: Document, reader: Document | None) -> Decode:
    check_ends(writer)
    read = _plain_reader(writer) if reader is None else _resolving_reader(writer, reader)
    skimmer = Skimmer(writer)

    def decode(data: bytes) -> object:
        if skimmer.is_needed:
            skimmer.check(data)
        source = BytesIO(data)
        try:
            value = read(source)
        except UNFIT as error:
            skimmer.check(data)
            raise UnreadableData(f"the data do not fit the schema: {error or type(error).__name__}") from None
        left = len(data) - source.tell()
        if left:
            raise UnreadableData(f"{left} bytes are left behind the value; the data have another schema")
        return value

    return decode


def _plain_reader(document: Document) -> Callable[[BytesIO], object]:
    form = form_of(document)
    return lambda source: schemaless_reader(source, form, None)


def _resolving_reader(writer: Document, reader: Document) -> Callable[[BytesIO], object]:
    written, seen = resolve(writer, reader)

    def read(source: BytesIO) -> object:
        around = schemaless_reader(source, written, seen)
        assert isinstance(around, dict)
        return around[VALUE]

    return read
