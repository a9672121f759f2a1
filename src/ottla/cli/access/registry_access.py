"""How commands reach a schema registry: the options that name it, and the client that they make.

`--registry` is stronger than the client's properties, and these than the environment.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.cli.access.cluster_access import add_property_options, given_properties
from ottla.cli.exits import CommandError, ExitCode, UsageError

if TYPE_CHECKING:
    from ottla.schemas.errors import SchemaError
    from ottla.schemas.registry_client.registry_client import RegistryClient
    from ottla.schemas.registry_client.settings import RegistryClientSettings

T = TypeVar("T")

REGISTRY_VARIABLE: Final = "OTTLA_SCHEMA_REGISTRY_URL"
DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"
# The registry's own words do not always say that the state of what is there is the reason.
_CONFLICT_CODES: Final = (40405, 40407, 42205, 42206, 42207, 42211)
_STATUS_CODES: Final = {
    401: ExitCode.NOT_AUTHORISED,
    403: ExitCode.NOT_AUTHORISED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
}
_MISSING_LIBRARIES: Final = "The libraries of schemas are missing: pip install 'ottla[schemas]'"
_UNREACHABLE_REMEDY: Final = (
    f"--registry (or {REGISTRY_VARIABLE}) names the registries to ask. On this machine `ottla registry` starts one."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of commands that ask a registry and no cluster."""
    group = parser.add_argument_group("registry")
    add_registry_option(group, f"default {DEFAULT_REGISTRY}")
    add_property_options(group)


def add_registry_option(group: argparse._ArgumentGroup, otherwise: str, does: str = "") -> None:
    group.add_argument(
        "--registry",
        metavar="URL[,...]",
        help=f"{does}registries to ask (environment: {REGISTRY_VARIABLE}; {otherwise})",
    )


def registry_settings(options: argparse.Namespace, properties: Mapping[str, str]) -> "RegistryClientSettings | None":
    """Read from the options of a command how to reach a registry; None if nothing names one."""
    from ottla.schemas.registry_client.settings import URL_PROPERTY, InvalidRegistrySetting, read_client_settings

    found = getattr(options, "registry", None) or properties.get(URL_PROPERTY) or os.environ.get(REGISTRY_VARIABLE)
    if not found:
        return None
    try:
        return read_client_settings({**properties, URL_PROPERTY: found})
    except InvalidRegistrySetting as error:
        raise UsageError(f"{error}.") from None


def registry_or_default(options: argparse.Namespace, properties: Mapping[str, str]) -> "RegistryClientSettings":
    """The registry that is meant where one is needed."""
    from ottla.schemas.registry_client.settings import RegistryClientSettings

    return registry_settings(options, properties) or RegistryClientSettings((DEFAULT_REGISTRY,))


def with_registry(options: argparse.Namespace, work: "Callable[[RegistryClient], T]") -> T:
    """Do work with a client of the registry; what goes wrong becomes an error of the command."""
    return work_with(registry_or_default(options, given_properties(options)), work)


def work_with(settings: "RegistryClientSettings", work: "Callable[[RegistryClient], T]") -> T:
    """As `with_registry`, for a registry that is known already."""
    from ottla.schemas.errors import SchemaError

    try:
        with open_registry(settings) as client:
            return work(client)
    except SchemaError as error:
        raise registry_error(error) from error
    except ModuleNotFoundError as error:
        raise CommandError(f"{_MISSING_LIBRARIES} ({error.name})") from None


def open_registry(settings: "RegistryClientSettings") -> "RegistryClient":
    """A client, which is closed by whoever asked for it."""
    from ottla.schemas.registry_client.registry_client import RegistryClient
    from ottla.schemas.registry_client.settings import InvalidRegistrySetting

    try:
        return RegistryClient(settings)
    except InvalidRegistrySetting as error:
        raise UsageError(f"{error}.") from None
    except ModuleNotFoundError as error:
        raise CommandError(f"{_MISSING_LIBRARIES} ({error.name})") from None


def registry_error(error: "SchemaError") -> CommandError:
    """Turn an error of schemas or of a registry into an error of the command."""
    from ottla.schemas.registry_client.errors import RegistryRefusal, RegistryUnreachable

    if isinstance(error, RegistryUnreachable):
        return CommandError(f"{error}.", ExitCode.UNAVAILABLE, _UNREACHABLE_REMEDY)
    if not isinstance(error, RegistryRefusal):
        return CommandError(f"{error}.")
    code = ExitCode.CONFLICT if error.code in _CONFLICT_CODES else _STATUS_CODES.get(error.status, ExitCode.FAILED)
    remedy = None
    if code is ExitCode.NOT_AUTHORISED:
        remedy = "-X basic.auth.user.info=USER:PASSWORD says who asks; a file for --client-config keeps it from others."
    elif code is ExitCode.NOT_FOUND:
        remedy = "`ottla schemas list` shows the subjects that there are."
    return CommandError(f"{error} ({error.code})", code, remedy)
