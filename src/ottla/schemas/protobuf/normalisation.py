"""One text for all schemas that mean the same: what a registry stores with `normalize=true`.

Names of types become full names with a dot in front. Imports, options, reserved numbers and names, ranges, constants
and fields are sorted; oneofs by their first field. Messages for the entries of maps become `map<...>`. proto2, which is
what a text without a syntax means, is not said. The order of messages and enums stays: records count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, ServiceDescriptorProto

from ottla.schemas.protobuf.element_printer import all_options
from ottla.schemas.protobuf.elements import (
    Enum,
    Extend,
    ExtensionRanges,
    Field,
    Group,
    Import,
    Message,
    OneOf,
    ProtoFile,
    Quoted,
    Range,
    Reserved,
    Service,
    Word,
)
from ottla.schemas.protobuf.file_set import FileSet
from ottla.schemas.protobuf.map_entries import fold_maps
from ottla.schemas.protobuf.option_normalisation import OptionNormaliser


def normalise(file: ProtoFile, file_set: FileSet) -> ProtoFile:
    return _Normaliser(file_set).normalise(fold_maps(file))


class _Normaliser:
    def __init__(self, file_set: FileSet) -> None:
        self._descriptor = file_set.main
        self._options = OptionNormaliser(file_set.pool)

    def normalise(self, file: ProtoFile) -> ProtoFile:
        package = file.package or ""
        messages = {message.name: message for message in self._descriptor.message_type}
        services = {service.name: service for service in self._descriptor.service}
        return replace(
            file,
            syntax=None if file.syntax == "proto2" else file.syntax,
            imports=tuple(sorted(set(file.imports), key=_import_key)),
            options=self._options.normalise(file.options, package),
            messages=tuple(self._message(one, messages[one.name], package) for one in file.messages),
            enums=tuple(self._enum(one, package) for one in file.enums),
            extends=self._extends(file.extends, self._descriptor.extension, messages, package),
            services=tuple(self._service(one, services[one.name], package) for one in file.services),
        )

    def _message(self, message: Message, descriptor: DescriptorProto, outer: str) -> Message:
        scope = f"{outer}.{message.name}" if outer else message.name
        fields = {field.number: field for field in descriptor.field}
        nested = {one.name: one for one in descriptor.nested_type}
        one_ofs = (self._one_of(one, fields, nested, scope) for one in message.one_ofs)
        return replace(
            message,
            reserved=_sorted_reserved(message.reserved),
            options=self._options.normalise(message.options, scope),
            fields=self._fields(message.fields, fields, nested, scope),
            one_ofs=tuple(sorted(one_ofs, key=_first_tag)),
            groups=self._groups(message.groups, nested, scope),
            extensions=self._extensions(message.extensions, scope),
            extends=self._extends(message.extends, descriptor.extension, nested, scope),
            messages=tuple(self._message(one, nested[one.name], scope) for one in message.messages),
            enums=tuple(self._enum(one, scope) for one in message.enums),
        )

    def _fields(
        self,
        fields: Iterable[Field],
        descriptors: dict[int, FieldDescriptorProto],
        nested: dict[str, DescriptorProto],
        scope: str,
    ) -> tuple[Field, ...]:
        return tuple(
            replace(
                field,
                type=_full_type(field, descriptors[field.tag], nested),
                options=self._options.normalise(all_options(field), scope),
                default=None,
                json_name=None,
            )
            for field in sorted(fields, key=lambda field: field.tag)
        )

    def _groups(self, groups: Iterable[Group], nested: dict[str, DescriptorProto], scope: str) -> tuple[Group, ...]:
        return tuple(
            replace(
                group,
                message=self._message(group.message, nested[group.message.name], scope),
                options=self._options.normalise(group.options, scope),
            )
            for group in sorted(groups, key=lambda group: group.tag)
        )

    def _one_of(
        self,
        one_of: OneOf,
        fields: dict[int, FieldDescriptorProto],
        nested: dict[str, DescriptorProto],
        scope: str,
    ) -> OneOf:
        return replace(
            one_of,
            options=self._options.normalise(one_of.options, scope),
            fields=self._fields(one_of.fields, fields, nested, scope),
            groups=self._groups(one_of.groups, nested, scope),
        )

    def _extensions(self, extensions: Iterable[ExtensionRanges], scope: str) -> tuple[ExtensionRanges, ...]:
        single = (
            ExtensionRanges((one,), self._options.normalise(ranges.options, scope))
            for ranges in extensions
            for one in ranges.ranges
        )
        return tuple(sorted(single, key=lambda ranges: ranges.ranges[0].first))

    def _extends(
        self,
        extends: Iterable[Extend],
        descriptors: Sequence[FieldDescriptorProto],
        messages: dict[str, DescriptorProto],
        scope: str,
    ) -> tuple[Extend, ...]:
        """One for each message that is extended, in the order in which they come first."""
        by_name = {field.name: field for field in descriptors}
        joined: dict[str, Extend] = {}
        for extend in extends:
            # A group's field has the name of its message in small letters.
            members = [*(one.name for one in extend.fields), *(one.message.name.lower() for one in extend.groups)]
            if not members:
                continue
            name = by_name[members[0]].extendee
            fields = {by_name[one.name].number: by_name[one.name] for one in extend.fields}
            known = joined.get(name, Extend(name))
            joined[name] = Extend(
                name,
                (*known.fields, *self._fields(extend.fields, fields, {}, scope)),
                (*known.groups, *self._groups(extend.groups, messages, scope)),
            )
        return tuple(
            Extend(
                one.name,
                tuple(sorted(one.fields, key=lambda field: field.tag)),
                tuple(sorted(one.groups, key=lambda group: group.tag)),
            )
            for one in joined.values()
        )

    def _enum(self, enum: Enum, outer: str) -> Enum:
        scope = f"{outer}.{enum.name}" if outer else enum.name
        constants = (
            replace(constant, options=self._options.normalise(constant.options, scope)) for constant in enum.constants
        )
        return replace(
            enum,
            reserved=_sorted_reserved(enum.reserved),
            options=self._options.normalise(enum.options, scope),
            constants=tuple(sorted(constants, key=lambda constant: (constant.number, constant.name))),
        )

    def _service(self, service: Service, descriptor: ServiceDescriptorProto, outer: str) -> Service:
        scope = f"{outer}.{service.name}" if outer else service.name
        methods = {method.name: method for method in descriptor.method}
        return replace(
            service,
            options=self._options.normalise(service.options, scope),
            rpcs=tuple(
                replace(
                    rpc,
                    request=methods[rpc.name].input_type,
                    response=methods[rpc.name].output_type,
                    options=self._options.normalise(rpc.options, scope),
                )
                for rpc in service.rpcs
            ),
        )


def _import_key(one: Import) -> tuple[str, str]:
    return (one.modifier or "", one.path)


def _first_tag(one_of: OneOf) -> int:
    return min((*(field.tag for field in one_of.fields), *(group.tag for group in one_of.groups)), default=0)


def _full_type(field: Field, descriptor: FieldDescriptorProto, nested: dict[str, DescriptorProto]) -> str:
    if not descriptor.type_name:
        return field.type
    if not field.type.startswith("map<"):
        return str(descriptor.type_name)
    key, _, value = field.type.removeprefix("map<").removesuffix(">").partition(", ")
    entry = nested[descriptor.type_name.rpartition(".")[2]]
    full_value = next(one.type_name for one in entry.field if one.number == 2)
    return f"map<{key}, {full_value or value}>"


def _sorted_reserved(reserved: Iterable[Reserved]) -> tuple[Reserved, ...]:
    """Each number, range and name alone: numbers first."""
    values = {value for one in reserved for value in one.values}
    return tuple(Reserved((value,)) for value in sorted(values, key=_reserved_key))


def _reserved_key(value: Range | Quoted | Word) -> tuple[int, int, str]:
    if isinstance(value, Range):
        return (0, value.first, "")
    return (1, 0, value.data.decode("utf-8", "replace") if isinstance(value, Quoted) else value.text)
