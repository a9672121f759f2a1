"""A registry without IO, to be driven by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ottla.registry.change import Change
from ottla.registry.deletion import delete_subject, delete_version
from ottla.registry.records import decode_record, encode_key, encode_value
from ottla.registry.registration import Registration, register_schema
from ottla.registry.scopes import Defaults
from ottla.registry.setting_changes import change_config, change_mode
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding
from ottla.schemas.schema import Reference, Schema


@dataclass(frozen=True)
class Fields:
    """A schema that is a list of names; it reads what was written with at least its own."""

    text: str
    name: str | None = None

    @property
    def names(self) -> list[str]:
        return json.loads(self.text)

    @property
    def canonical(self) -> str:
        return json.dumps(self.names)

    def normalised(self) -> str:
        return json.dumps(sorted(self.names))

    def formatted(self, form: str) -> str:
        return self.canonical

    def compare(self, writer: Fields) -> list[Finding]:
        return [Finding("MISSING", f"/{name}", name) for name in self.names if name not in writer.names]

    def encoder(self) -> Any:
        raise NotImplementedError

    def decoder(self, reader: Fields | None = None) -> Any:
        raise NotImplementedError


def parse(subject: str, schema: Schema, is_new: bool) -> Fields:
    try:
        json.loads(schema.text)
    except ValueError as error:
        raise InvalidSchema(str(error)) from None
    return Fields(schema.text)


@dataclass
class Registry:
    state: RegistryState = field(default_factory=RegistryState)
    defaults: Defaults = field(default_factory=Defaults)
    written: list[tuple[bytes, bytes | None]] = field(default_factory=list)

    def carry_out(self, change: Change[Any]) -> Any:
        """Writes the records, and reads them back."""
        for record in change.records:
            self.written.append((encode_key(record.key), encode_value(record.value)))
            self.state = self.state.apply(decode_record(*self.written[-1]))
        return change.answer

    def register(self, subject: str, *names: str, references: tuple[Reference, ...] = (), **asked: Any) -> StoredSchema:
        schema = Schema(json.dumps(names), references=references)
        return self.ask(Registration(subject, schema, **asked))

    def ask(self, asked: Registration) -> StoredSchema:
        return self.carry_out(register_schema(self.state, asked, defaults=self.defaults, parse=parse)).stored

    def delete(self, subject: str, version: int | None = None, *, is_permanent: bool = False) -> Any:
        if version is None:
            return self.carry_out(delete_subject(self.state, subject, is_permanent=is_permanent))
        return self.carry_out(delete_version(self.state, subject, version, is_permanent=is_permanent))

    def configure(self, scope: str | None, **fields: Any) -> Any:
        return self.carry_out(change_config(self.state, scope, fields))

    def set_mode(self, scope: str | None, mode: str, *, is_forced: bool = False) -> Any:
        return self.carry_out(change_mode(self.state, scope, mode, defaults=self.defaults, is_forced=is_forced))

    def read_again(self) -> RegistryState:
        """What another instance makes of the records."""
        state = RegistryState()
        for key, value in self.written:
            state = state.apply(decode_record(key, value))
        return state

    def compacted(self) -> RegistryState:
        """What an instance makes of them that starts after the topic was compacted."""
        state = RegistryState()
        newest = {key: (place, value) for place, (key, value) in enumerate(self.written)}
        for key, (_, value) in sorted(newest.items(), key=lambda item: item[1][0]):
            state = state.apply(decode_record(key, value))
        return state
