"""A file without extensions, ranges for them, and custom options: `?format=ignore_extensions`.

Confluent's own options stay: they document a field, and say what a registry's rules apply to.
"""

from __future__ import annotations

from dataclasses import replace

from ottla.schemas.protobuf.elements import Enum, Field, Group, Message, OneOf, Option, ProtoFile, Rpc, Service


def without_extensions(file: ProtoFile) -> ProtoFile:
    return replace(
        file,
        extends=(),
        options=_without_custom(file.options),
        messages=tuple(map(_filter_message, file.messages)),
        enums=tuple(map(_filter_enum, file.enums)),
        services=tuple(map(_filter_service, file.services)),
    )


def _without_custom(options: tuple[Option, ...]) -> tuple[Option, ...]:
    return tuple(one for one in options if not one.is_custom or one.name.removeprefix(".").startswith("confluent."))


def _filter_message(message: Message) -> Message:
    return replace(
        message,
        extends=(),
        extensions=(),
        options=_without_custom(message.options),
        fields=tuple(map(_filter_field, message.fields)),
        one_ofs=tuple(map(_filter_one_of, message.one_ofs)),
        groups=tuple(map(_filter_group, message.groups)),
        messages=tuple(map(_filter_message, message.messages)),
        enums=tuple(map(_filter_enum, message.enums)),
    )


def _filter_field(field: Field) -> Field:
    return replace(field, options=_without_custom(field.options))


def _filter_group(group: Group) -> Group:
    return replace(group, options=_without_custom(group.options), message=_filter_message(group.message))


def _filter_one_of(one_of: OneOf) -> OneOf:
    return replace(
        one_of,
        options=_without_custom(one_of.options),
        fields=tuple(map(_filter_field, one_of.fields)),
        groups=tuple(map(_filter_group, one_of.groups)),
    )


def _filter_enum(enum: Enum) -> Enum:
    return replace(
        enum,
        options=_without_custom(enum.options),
        constants=tuple(replace(one, options=_without_custom(one.options)) for one in enum.constants),
    )


def _filter_service(service: Service) -> Service:
    return replace(service, options=_without_custom(service.options), rpcs=tuple(map(_filter_rpc, service.rpcs)))


def _filter_rpc(rpc: Rpc) -> Rpc:
    return replace(rpc, options=_without_custom(rpc.options))
