"""The part of `kafka-configs` about users, clients and addresses: quotas and SCRAM credentials."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.configs.config_options import Entity
from ottla.cli.kafka.frame.java_numbers import java_double
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.quotas import ClientQuota, QuotaFilter
    from ottla.client.admin.scram_credentials import NewScramCredential, ScramMechanism

_CLIENT_QUOTAS: Final = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
_QUOTAS: Final = {
    "users": _CLIENT_QUOTAS,
    "clients": _CLIENT_QUOTAS,
    "ips": frozenset({"connection_creation_rate"}),
}
_SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_ENTITY_TYPES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
# How the tool names the entities of the protocol, in the order in which it prints them.
_SHOWN: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_ITERATIONS_MIN: Final = 4096


async def describe_quotas(client: "Client", entities: Sequence[Entity]) -> int:
    """The quotas of the entities, then the SCRAM credentials of users."""
    for quota in await client.admin.describe_client_quotas([_filter(entity) for entity in entities]):
        if quota.values:
            values = ", ".join(f"{name}={java_double(value)}" for name, value in quota.values.items())
            print(f"Quota configs for {entity_text(quota)} are {values}")
    if [entity.type for entity in entities] == ["users"] and not entities[0].is_default:
        await _describe_scram(client, entities[0].name)
    return ExitCode.DONE


def _filter(entity: Entity) -> "QuotaFilter":
    from ottla.client.admin.quotas import QuotaFilter, QuotaMatch

    kind = _ENTITY_TYPES[entity.type]
    if entity.name is None:
        return QuotaFilter(kind, QuotaMatch.ANY)
    if entity.is_default:
        return QuotaFilter(kind, QuotaMatch.DEFAULT)
    return QuotaFilter(kind, QuotaMatch.EXACT, entity.name)


def entity_text(quota: "ClientQuota") -> str:
    """An entity in the tool's words."""
    parts = []
    for kind, shown in _SHOWN.items():
        if kind in quota.entity:
            name = quota.entity[kind]
            parts.append(f"the default {shown}" if name is None else f"{shown} '{name}'")
    return ", ".join(parts)


async def _describe_scram(client: "Client", user: str | None) -> None:
    from ottla.protocol.errors import ErrorCode

    described = await client.admin.describe_scram_credentials(None if user is None else [user])
    for name, found in described.items():
        if found.error is not None:
            if found.error.code is not ErrorCode.RESOURCE_NOT_FOUND:
                raise found.error
            continue
        credentials = ", ".join(
            f"{mechanism.name.replace('_', '-')}=iterations={iterations}"
            for mechanism, iterations in found.iterations.items()
        )
        print(f"SCRAM credential configs for user-principal '{name}' are {credentials}")


async def alter_quotas(client: "Client", entities: Sequence[Entity], added: dict[str, str], deleted: list[str]) -> None:
    """Change quotas, or SCRAM credentials, never both at once."""
    allows_scram = [entity.type for entity in entities] == ["users"]
    _check_names(entities, added, "added", allows_scram=allows_scram)
    _check_names(entities, deleted, "deleted", allows_scram=allows_scram)
    scram = [name for name in (*added, *deleted) if name in _SCRAM]
    if not scram:
        await _alter_values(client, entities, added, deleted)
        return
    if len(scram) < len(added) + len(deleted):
        text = "Cannot alter both quota and SCRAM credential configs simultaneously for 'users'"
        raise CommandError(f"{text} using --bootstrap-server.")
    (user,) = entities
    if not user.name:
        text = "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials"
        raise CommandError(f"{text} using --bootstrap-server.")
    upsert = [parse_scram(name, value) for name, value in added.items()]
    await client.admin.alter_scram_credentials(user.name, upsert=upsert, delete=[_mechanism(name) for name in deleted])


def _check_names(
    entities: Sequence[Entity], names: "dict[str, str] | list[str]", verb: str, *, allows_scram: bool
) -> None:
    kind = entities[0].type
    known = _QUOTAS[kind] | (set(_SCRAM) if allows_scram else set())
    unexpected = [name for name in names if name not in known]
    if unexpected:
        what = {"users": "quota and SCRAM credential", "ips": "connection quota"}.get(kind, "quota")
        text = f"Only {what} configs can be {verb} for '{kind}' using --bootstrap-server."
        raise CommandError(f"{text} Unexpected config names: {','.join(unexpected)}")


async def _alter_values(
    client: "Client", entities: Sequence[Entity], added: dict[str, str], deleted: list[str]
) -> None:
    changes: dict[str, float | None] = {}
    for name, text in added.items():
        try:
            changes[name] = float(text)
        except ValueError:
            raise CommandError(f"Cannot parse quota configuration value for {name}: {text}") from None
    present = await client.admin.describe_client_quotas([_filter(entity) for entity in entities])
    existing = {name for quota in present for name in quota.values}
    missing = [name for name in deleted if name not in existing]
    if missing:
        raise CommandError(f"Invalid config(s): {','.join(missing)}")
    changes |= dict.fromkeys(deleted)
    target = {_ENTITY_TYPES[entity.type]: entity.name or None for entity in entities}
    await client.admin.alter_client_quotas(target, changes)


def parse_scram(name: str, text: str) -> "NewScramCredential":
    """The credential of `SCRAM-SHA-256=[iterations=8192,password=secret]`."""
    from ottla.client.admin.scram_credentials import NewScramCredential

    parts = dict(part.strip().partition("=")[::2] for part in text.split(","))
    iterations = parts.get("iterations", str(_ITERATIONS_MIN))
    if "password" not in parts or not parts["password"] or not iterations.isdigit():
        # The text holds a password, so the message shows only what was expected.
        wanted = f"{name}=[iterations=N,password=...]"
        raise CommandError(f"Invalid credential property {name}: write {wanted}, iterations may be left out.")
    try:
        count = int32(iterations)
    except ValueError as error:
        raise CommandError(f"Iterations: {error}") from None
    if count < _ITERATIONS_MIN:
        raise CommandError(f"Iterations {iterations} is less than the minimum {_ITERATIONS_MIN} required for {name}")
    return NewScramCredential(_mechanism(name), parts["password"], count)


def _mechanism(name: str) -> "ScramMechanism":
    from ottla.client.admin.scram_credentials import ScramMechanism

    return ScramMechanism[name.replace("-", "_")]
