"""JSON Schema as a format: a text becomes a schema that can be compared, normalised and used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding
from ottla.schemas.format import Decode, Encode
from ottla.schemas.json_schema.checks import Check
from ottla.schemas.json_schema.codec import make_decoder, make_encoder
from ottla.schemas.json_schema.comparison import compare
from ottla.schemas.json_schema.compiler import Compiler
from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.json_text import BadJson, read_json, show_json, write_json
from ottla.schemas.json_schema.soundness import Judge

_SHOWN_MAX: Final = 100


class JsonSchema:
    """A schema that was understood. It never changes; what it can do is made when it is asked for, and kept."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def canonical(self) -> str:
        return write_json(self.document.tree)

    @property
    def name(self) -> str | None:
        """The title."""
        tree = self.document.tree
        title = tree.get("title") if isinstance(tree, dict) else None
        return title if isinstance(title, str) else None

    def normalised(self) -> str:
        """All keys in order, and nothing else, as Confluent's registry does."""
        return write_json(self.document.tree, is_sorted=True)

    def formatted(self, form: str) -> str:  # noqa: ARG002
        """Confluent's registry has no other forms of JSON Schema."""
        return self.canonical

    def compare(self, writer: JsonSchema) -> list[Finding]:
        return compare(writer.document, self.document)

    def encoder(self) -> Encode:
        """InvalidSchema if values cannot be checked with it, because of a pattern that RE2 cannot run."""
        return make_encoder(self._check)

    def decoder(self, reader: JsonSchema | None = None) -> Decode:
        """As `encoder`. JSON says itself what it is, so the reader's schema is enough to read it."""
        return make_decoder((reader or self)._check)

    @cached_property
    def _check(self) -> Check:
        return Compiler().compile(self.document.root)


class JsonFormat:
    def parse(self, text: str, references: Mapping[str, str], *, is_new: bool = True) -> JsonSchema:
        try:
            tree = read_json(text)
        except BadJson as error:
            raise InvalidSchema(str(error)) from None
        if not isinstance(tree, dict | bool):
            shown = show_json(tree, _SHOWN_MAX)
            raise InvalidSchema(f"{shown} is not a JSON schema, which is an object, true or false")
        judge = Judge()
        judge.judge(tree, is_new=is_new)
        document = Document(tree, references)
        judge.judge_references(document)
        return JsonSchema(document)
