"""What the driver asks of a registry, and how its answers reach the person who writes the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ottla.pipeline.errors import OptionError, PipelineError

if TYPE_CHECKING:
    from ottla.schemas.registry_client.known_schemas import KnownSchemas
    from ottla.schemas.registry_client.registered import RegisteredSchema

Registry = str | Mapping[str, str]
Version = int | str


@contextmanager
def explaining(what: str) -> Iterator[None]:
    """Turn what schemas and registries raise into a PipelineError."""
    try:
        from ottla.schemas.errors import SchemaError
        from ottla.schemas.registry_client.settings import InvalidRegistrySetting

        try:
            yield
        except InvalidRegistrySetting as error:
            raise OptionError(f"registry: {error}") from None
        except SchemaError as error:
            raise PipelineError(f"{what}: {error}") from None
    except ModuleNotFoundError as error:
        raise PipelineError(
            f"typed topics need the libraries of schemas, here and on executors: pip install 'ottla[spark,schemas]' "
            f"({error.name} is missing)"
        ) from None


def open_registry(registry: Registry) -> KnownSchemas:
    from ottla.pipeline.typed.worker_registries import known_schemas
    from ottla.schemas.registry_client.settings import URL_PROPERTY, read_client_settings

    return known_schemas(
        read_client_settings({URL_PROPERTY: registry} if isinstance(registry, str) else dict(registry))
    )


def find_version(known: KnownSchemas, subject: str, version: Version) -> RegisteredSchema:
    if isinstance(version, str) and version != "latest" and not version.removeprefix("-").isdigit():
        raise OptionError(f"version={version!r} is not the number of a version, or latest")
    return known.client.version(subject, version)


def find_text(known: KnownSchemas, subject: str, text: str, schema_type: str, *, registers: bool) -> RegisteredSchema:
    """The version of a subject with a text, made first if it may be."""
    from ottla.schemas.schema import Schema, SchemaType

    try:
        schema = Schema(text, SchemaType(schema_type.upper()))
    except ValueError:
        raise OptionError(f"schema_type={schema_type!r} is not one of {', '.join(SchemaType)}") from None
    if registers:
        known.client.register(subject, schema)
    return known.client.look_up(subject, schema)
