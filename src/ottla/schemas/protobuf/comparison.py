"""What keeps a reader's schema from reading what a writer's has written: Confluent's rules, by its names.

| rule | the reader, compared with the writer |
| --- | --- |
| PACKAGE_CHANGED | has another package |
| MESSAGE_REMOVED | lacks a message |
| FIELD_KIND_CHANGED | has a scalar, a message, a group or a map where the writer has another of these |
| FIELD_SCALAR_KIND_CHANGED | has a scalar that is written in another way (see field_kinds) |
| FIELD_NUMERIC_LABEL_CHANGED | has a number under another label; only labels that both texts write count |
| FIELD_NAMED_TYPE_CHANGED | has a message of another name, or one of another file that differs in what is listed here |
| REQUIRED_FIELD_ADDED, REQUIRED_FIELD_REMOVED | has one more required field, or lacks one |
| ONEOF_FIELD_REMOVED | lacks a field in a oneof of the same name |
| MULTIPLE_FIELDS_MOVED_TO_ONEOF | has several fields in one oneof that were in none |
| FIELD_MOVED_TO_EXISTING_ONEOF | has a field in a oneof that was in none, with others that were in one |

All else that differs is compatible, and not found: other messages, enums, constants, names and orders; fields and
oneofs added or removed; texts under another label. Confluent names these as well (MESSAGE_ADDED, MESSAGE_MOVED,
ENUM_*, ENUM_CONST_*, FIELD_ADDED, FIELD_REMOVED, FIELD_NAME_CHANGED, FIELD_STRING_OR_BYTES_LABEL_CHANGED, ONEOF_ADDED,
ONEOF_REMOVED, ONEOF_FIELD_ADDED), but answers without them.

Messages of the schema's own file are compared with those of the same name. A message of another file is compared where
a field has it, each pair once, whatever the number of ways that lead to it; the fields that have it are found if it
differs. Pairs wait in a queue: neither a long chain of files nor a circle costs stack.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from ottla.schemas.finding import Finding
from ottla.schemas.protobuf.field_declaration import is_in_one_of, label_of, type_of
from ottla.schemas.protobuf.field_kinds import Kind, kind_of, map_fields
from ottla.schemas.protobuf.file_set import FileSet
from ottla.schemas.protobuf.type_index import index_types

# The full names of a message at the writer and at the reader; empty for the schema itself.
_Pair: TypeAlias = tuple[str, str]
_SCHEMA: _Pair = ("", "")
_Path: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class _Compared:
    """What was found in a pair, and what will be found if another pair differs."""

    findings: list[Finding] = field(default_factory=list)
    conditional: list[tuple[_Pair, Finding]] = field(default_factory=list)


def compare(reader: FileSet, writer: FileSet) -> list[Finding]:
    return _Comparison(reader, writer).run()


class _Comparison:
    def __init__(self, reader: FileSet, writer: FileSet) -> None:
        self._files = (writer.main, reader.main)
        self._writer_types = index_types(writer)
        self._reader_types = index_types(reader)
        self._compared: dict[_Pair, _Compared] = {}
        self._waiting: deque[_Pair] = deque()
        self._current = _Compared()
        # The syntax of the files that the current pair is declared in.
        self._syntaxes = ("", "")

    def run(self) -> list[Finding]:
        self._compare_schemas()
        while self._waiting:
            self._compare_pair(self._waiting.popleft())
        differing = self._differing()
        found = []
        for compared in self._compared.values():
            found += compared.findings
            found += [finding for pair, finding in compared.conditional if pair in differing]
        return found

    def _differing(self) -> set[_Pair]:
        """The pairs in which something is found, or which have fields of such a pair."""
        used_by: dict[_Pair, list[_Pair]] = {}
        for pair, compared in self._compared.items():
            for used, _ in compared.conditional:
                used_by.setdefault(used, []).append(pair)
        waiting = [pair for pair, compared in self._compared.items() if compared.findings]
        differing = set(waiting)
        while waiting:
            for pair in used_by.get(waiting.pop(), ()):
                if pair not in differing:
                    differing.add(pair)
                    waiting.append(pair)
        return differing

    def _compare_schemas(self) -> None:
        writer, reader = self._files
        self._current = self._compared[_SCHEMA] = _Compared()
        self._syntaxes = (writer.syntax, reader.syntax)
        if writer.package != reader.package:
            self._find("PACKAGE_CHANGED", (), f"{writer.package or 'none'} became {reader.package or 'none'}")
        self._compare_all(writer.message_type, reader.message_type, ())

    def _compare_pair(self, pair: _Pair) -> None:
        writer, reader = self._writer_types[pair[0]], self._reader_types[pair[1]]
        self._current = self._compared[pair]
        self._syntaxes = (writer.syntax, reader.syntax)
        assert isinstance(writer.descriptor, DescriptorProto)
        assert isinstance(reader.descriptor, DescriptorProto)
        self._compare_messages(writer.descriptor, reader.descriptor, tuple(writer.local_name.split(".")))

    def _compare_all(self, writers: Iterable[DescriptorProto], readers: Iterable[DescriptorProto], path: _Path) -> None:
        by_name = {message.name: message for message in readers}
        for message in writers:
            if message.options.map_entry:
                continue
            inner = (*path, message.name)
            if message.name in by_name:
                self._compare_messages(message, by_name[message.name], inner)
            else:
                self._find("MESSAGE_REMOVED", inner, message.name)

    def _compare_messages(self, writer: DescriptorProto, reader: DescriptorProto, path: _Path) -> None:
        written, read = _Members(writer), _Members(reader)
        self._compare_one_ofs(written, read, path)
        for number in sorted(written.alone.keys() | read.alone.keys()):
            self._compare_presence(written, read, number, (*path, str(number)))
        for number, one in sorted(written.fields.items()):
            other = read.fields.get(number)
            if other is not None:
                shared = written.one_of(one) if written.one_of(one) == read.one_of(other) else None
                place = (*path, shared, str(number)) if shared else (*path, str(number))
                self._compare_fields(one, other, place)
        groups = {one.type_name.rpartition(".")[2] for one in writer.field if one.type == one.TYPE_GROUP}
        nested = [one for one in writer.nested_type if one.name not in groups or _has_message(reader, one.name)]
        self._compare_all(nested, reader.nested_type, path)

    def _compare_presence(self, written: _Members, read: _Members, number: int, path: _Path) -> None:
        required = FieldDescriptorProto.LABEL_REQUIRED
        if number not in read.fields and written.alone[number].label == required:
            self._find("REQUIRED_FIELD_REMOVED", path, written.alone[number].name)
        # A field that has left a oneof counts as new outside of it.
        if number in read.alone and number not in written.alone and read.alone[number].label == required:
            self._find("REQUIRED_FIELD_ADDED", path, read.alone[number].name)

    def _compare_one_ofs(self, written: _Members, read: _Members, path: _Path) -> None:
        for name, numbers in read.one_ofs.items():
            moved = [number for number in numbers if number in written.alone]
            others = [number for number in numbers if number in written.fields and number not in written.alone]
            names = ", ".join(read.fields[number].name for number in moved)
            if len(moved) > 1:
                self._find("MULTIPLE_FIELDS_MOVED_TO_ONEOF", (*path, name), names)
            elif moved and others:
                self._find("FIELD_MOVED_TO_EXISTING_ONEOF", (*path, name), names)
        for name, numbers in written.one_ofs.items():
            for number in sorted(set(numbers) - set(read.one_ofs.get(name, numbers))):
                self._find("ONEOF_FIELD_REMOVED", (*path, name, str(number)), written.fields[number].name)

    def _compare_fields(self, writer: FieldDescriptorProto, reader: FieldDescriptorProto, path: _Path) -> None:
        kinds = (kind_of(writer, self._writer_types), kind_of(reader, self._reader_types))
        types = (type_of(writer), type_of(reader))
        if kinds[0] is not kinds[1]:
            are_scalars = kinds[0].is_scalar and kinds[1].is_scalar
            rule = "FIELD_SCALAR_KIND_CHANGED" if are_scalars else "FIELD_KIND_CHANGED"
            self._find(rule, path, writer.name, *types)
        elif kinds[0] is Kind.MAP:
            maps = (map_fields(writer, self._writer_types), map_fields(reader, self._reader_types))
            assert maps[0] is not None and maps[1] is not None
            self._compare_fields(maps[0].key, maps[1].key, path)
            self._compare_fields(maps[0].value, maps[1].value, path)
        elif kinds[0].is_scalar:
            labels = (label_of(writer, self._syntaxes[0]), label_of(reader, self._syntaxes[1]))
            if kinds[0] is not Kind.TEXT and None not in labels and labels[0] != labels[1]:
                self._find("FIELD_NUMERIC_LABEL_CHANGED", path, writer.name, *labels)
        else:
            self._compare_named(writer, reader, path)

    def _compare_named(self, writer: FieldDescriptorProto, reader: FieldDescriptorProto, path: _Path) -> None:
        pair = (writer.type_name, reader.type_name)
        written, read = self._writer_types[pair[0]], self._reader_types[pair[1]]
        finding = self._finding("FIELD_NAMED_TYPE_CHANGED", path, writer.name, *pair)
        if written.local_name != read.local_name:
            self._current.findings.append(finding)
        elif not (written.is_own and read.is_own):
            self._current.conditional.append((pair, finding))
            if pair not in self._compared:
                self._compared[pair] = _Compared()
                self._waiting.append(pair)

    def _find(self, rule: str, path: _Path, detail: str, writer: str | None = None, reader: str | None = None) -> None:
        self._current.findings.append(self._finding(rule, path, detail, writer, reader))

    def _finding(
        self, rule: str, path: _Path, detail: str, writer: str | None = None, reader: str | None = None
    ) -> Finding:
        return Finding(rule, "#/" + "/".join(path), detail, reader, writer)


class _Members:
    """The fields of a message by number, with the oneofs that the text declares."""

    def __init__(self, message: DescriptorProto) -> None:
        self._names = [one_of.name for one_of in message.oneof_decl]
        self.fields = {one.number: one for one in message.field}
        self.alone = {number: one for number, one in self.fields.items() if self.one_of(one) is None}
        self.one_ofs: dict[str, list[int]] = {}
        for number, one in self.fields.items():
            name = self.one_of(one)
            if name is not None:
                self.one_ofs.setdefault(name, []).append(number)

    def one_of(self, one: FieldDescriptorProto) -> str | None:
        return self._names[one.oneof_index] if is_in_one_of(one) else None


def _has_message(message: DescriptorProto, name: str) -> bool:
    return any(nested.name == name for nested in message.nested_type)
