"""`ottla topics alter` and `ottla topics delete`: what cannot be undone is shown first and done with --execute."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.output import Row, print_rows
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ottla.cli.configs.changes import Difference
    from ottla.cli.outcomes import Errors
    from ottla.client import Client, ConfigChange
    from ottla.client.admin.topics import TopicDescription

_DELETE_COLUMNS = ("topic", "partitions", "offsets", "size_bytes", "deleted")

# What a cluster loses with each topic that it keeps for itself.
INTERNAL_LOSSES: Final = {
    "__consumer_offsets": "the committed offsets of all groups: consumers begin again where auto.offset.reset says",
    "__transaction_state": "the states of all transactional ids: transactions that are open may never end, "
    "and what they wrote keeps readers of committed records waiting",
    "__share_group_state": "the positions and acknowledgements of all share groups",
    "__remote_log_metadata": "where segments are in remote storage: they cannot be read any more",
}


def delete_topics(options: argparse.Namespace) -> int:
    """Delete topics, or show what they hold."""

    async def ask(client: "Client") -> "tuple[list[Row], Errors, bool]":
        from ottla.cli.topics.measures import measure, total
        from ottla.cli.words.names import select_topics
        from ottla.client import TopicPartition

        names, missing = select_topics(await client.admin.list_topics(include_internal=True), options.topics)
        topics = await client.admin.describe_topics(names)
        measures = await measure(client, topics.values())
        acts = may_act(options, missing)
        errors: Errors = await client.admin.delete_topics(names) if acts else missing
        rows: list[Row] = []
        for topic in topics.values():
            parts = [measures[TopicPartition(topic.name, each.partition)] for each in topic.partitions]
            rows.append(
                {
                    "topic": topic.name,
                    "partitions": len(parts),
                    "offsets": total(part.offsets for part in parts),
                    "size_bytes": total(part.size_bytes for part in parts),
                    "deleted": acts and errors.get(topic.name) is None,
                }
            )
        return rows, errors, acts

    rows, errors, acted = with_client(cluster_access(options), ask)
    print_rows(output_format(options), _DELETE_COLUMNS, rows, errors=errors)
    if not acted:
        for line in internal_loss_warnings(str(row["topic"]) for row in rows):
            print(f"ottla topics: warning: {line}.", file=sys.stderr)
    return report_outcome("ottla topics", errors, acted=acted)


def internal_loss_warnings(names: "Iterable[str]") -> list[str]:
    """Write a line for each of these topics that the cluster keeps for itself."""
    return [
        f"{name} is an internal topic; with it go {INTERNAL_LOSSES[name]}" for name in names if name in INTERNAL_LOSSES
    ]


def alter_topics(options: argparse.Namespace) -> int:
    """Add partitions and change settings."""
    from ottla.cli.configs.changes import CHANGE_COLUMNS, change_rows, is_dangerous

    changes = _changes(options)
    if not changes and options.partitions is None:
        raise UsageError("nothing to alter: give -p COUNT, -c KEY=VALUE or -d KEY.")

    async def ask(client: "Client") -> "tuple[list[Row], Errors, bool]":
        from ottla.cli.words.names import select_topics

        names, missing = select_topics(await client.admin.list_topics(include_internal=True), options.topics)
        if missing:
            return [], missing, False
        plan = await _plan(client, names, changes, options.partitions)
        errors = await _apply(client, plan, changes, options.partitions, validate_only=True)
        if acts := may_act(options, errors, needs_consent=is_dangerous(plan)):
            errors = await _apply(client, plan, changes, options.partitions, validate_only=False)
        return change_rows(plan, lambda name: acts and errors.get(name) is None, "topic"), errors, acts

    rows, errors, acted = with_client(cluster_access(options), ask)
    print_rows(output_format(options), ("topic", *CHANGE_COLUMNS), rows, errors=errors)
    return report_outcome("ottla topics", errors, acted=acted)


def _changes(options: argparse.Namespace) -> "list[ConfigChange]":
    from ottla.cli.words.config_texts import parse_settings

    settings = parse_settings("-c", options.config)
    both = sorted(settings.keys() & set(options.delete_config))
    if both:
        raise UsageError(f"{both[0]} is both set and deleted.")
    from ottla.client import ConfigChange, ConfigOperation

    return [
        *(ConfigChange(name, value) for name, value in settings.items()),
        *(ConfigChange(name, operation=ConfigOperation.DELETE) for name in options.delete_config),
    ]


async def _plan(
    client: "Client", names: "Sequence[str]", changes: "list[ConfigChange]", partitions: int | None
) -> "dict[str, list[Difference]]":
    from ottla.cli.configs.changes import Difference, differences
    from ottla.client import ConfigResource, ResourceType
    from ottla.client.admin.configs import ConfigSource

    topics = await client.admin.describe_topics(names)
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in topics}
    described = await client.admin.describe_configs(resources.values())
    plan = {}
    for name, topic in topics.items():
        _check_growth(topic, partitions)
        more = [] if partitions is None else [Difference("partitions", str(len(topic.partitions)), str(partitions))]
        plan[name] = [*more, *differences(described[resources[name]].entries, changes, ConfigSource.TOPIC)]
    return plan


def _check_growth(topic: "TopicDescription", partitions: int | None) -> None:
    if partitions is not None and partitions < len(topic.partitions):
        raise CommandError(
            f"{topic.name} has {len(topic.partitions)} partitions: their number cannot be lowered to {partitions}.",
            ExitCode.CONFLICT,
            "Create another topic with fewer partitions and copy the records.",
        )


async def _apply(
    client: "Client",
    plan: "dict[str, list[Difference]]",
    changes: "list[ConfigChange]",
    partitions: int | None,
    *,
    validate_only: bool,
) -> "Errors":
    """Partitions first: they are what may be refused for reasons of the cluster."""
    from ottla.client import ConfigResource, ResourceType
    from ottla.client.errors import KafkaError

    errors: dict[str, KafkaError | None] = dict.fromkeys(plan)
    growing = [name for name, rows in plan.items() if rows[0].name == "partitions" and rows[0].is_change]
    if growing and partitions is not None:
        counts = dict.fromkeys(growing, partitions)
        errors.update(await client.admin.create_partitions(counts, validate_only=validate_only))
    changing = [name for name, error in errors.items() if error is None] if changes else []
    if changing:
        wanted = {ConfigResource(ResourceType.TOPIC, name): changes for name in changing}
        altered = await client.admin.alter_configs(wanted, validate_only=validate_only)
        errors.update({resource.name: error for resource, error in altered.items()})
    return errors
