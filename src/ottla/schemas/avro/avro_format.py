"""Avro: a text becomes a schema that was understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ottla.schemas.avro.canonical import write_schema
from ottla.schemas.avro.comparison import compare
from ottla.schemas.avro.defaults import check_defaults
from ottla.schemas.avro.model import Document, Record
from ottla.schemas.avro.normalisation import normalise
from ottla.schemas.avro.parsing import parse_document
from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding
from ottla.schemas.format import Decode, Encode


@dataclass(frozen=True, slots=True)
class AvroSchema:
    canonical: str
    document: Document = field(repr=False, compare=False)

    @property
    def name(self) -> str | None:
        root = self.document.resolve(self.document.root)
        return root.name.full if isinstance(root, Record) else None

    def normalised(self) -> str:
        return write_schema(normalise(self.document))

    def formatted(self, form: str) -> str:
        """`resolved` has the definitions of the references in it."""
        if form.lower() == "resolved":
            return write_schema(self.document, with_references=True)
        return self.canonical

    def compare(self, writer: AvroSchema) -> Sequence[Finding]:
        return compare(self.document, writer.document)

    def encoder(self) -> Encode:
        from ottla.schemas.avro.codec import make_encoder

        return make_encoder(self.document)

    def decoder(self, reader: AvroSchema | None = None) -> Decode:
        from ottla.schemas.avro.codec import make_decoder

        is_other = reader is not None and reader.formatted("resolved") != self.formatted("resolved")
        return make_decoder(self.document, reader.document if reader is not None and is_other else None)

    def json_encoder(self) -> Encode:
        """For values as `json_decoder` gives them."""
        from ottla.schemas.avro.plain_json.encoding import make_json_encoder

        return make_json_encoder(self.document)

    def json_decoder(self) -> Decode:
        """Gives JSON in place of values of logical types, and names branches of unions; see `plain_json`."""
        from ottla.schemas.avro.plain_json.decoding import make_json_decoder

        return make_json_decoder(self.document)


class AvroFormat:
    def parse(self, text: str, references: Mapping[str, str], *, is_new: bool = True) -> AvroSchema:
        document = parse_document(text, references.values())
        if is_new:
            check_defaults(document)
        canonical = write_schema(document)
        try:
            canonical.encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(canonical[error.start]):04x}"
            raise InvalidSchema(f"{half} is half of a character, and cannot be stored; write both halves") from None
        return AvroSchema(canonical, document)
