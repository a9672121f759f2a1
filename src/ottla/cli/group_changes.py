"""What `ottla groups` changes: offsets moved to another place, offsets and groups deleted.

Each shows first what it would do, and does it with --execute.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli import offset_resets
from ottla.cli.cluster_access import cluster_access, with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error
from ottla.cli.outcomes import report_errors
from ottla.cli.output import print_rows
from ottla.cli.partitions import parse_selection, resolve_selections
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.cli.offset_resets import PlannedOffset, Target
    from ottla.client import Client, KafkaError, TopicPartition
    from ottla.client.admin.groups import GroupDescription

_RESET_COLUMNS = ("group", "topic", "partition", "old_offset", "new_offset", "skipped", "replayed", "note")
_DELETE_COLUMNS = ("group", "state", "members", "partitions")
_DELETE_OFFSETS_COLUMNS = ("group", "topic", "partition", "offset")

_DRY_RUN = "Nothing was changed: add --execute to do it."


def reset_groups(options: argparse.Namespace) -> int:
    """Show, and with --execute make, the move of groups to other offsets."""
    import time

    if options.from_file is None and not (options.topic or options.all_topics):
        raise UsageError("Which topics?", remedy="Name them with --topic, or say --all-topics.")
    if options.from_file is not None and options.topic:
        raise UsageError("--from-file names the partitions itself: leave --topic out.")
    target = None if options.to is None else offset_resets.parse_target(options.to, time.time_ns() // 1_000_000)

    async def work(client: "Client") -> "dict[str, list[PlannedOffset]]":
        plans: dict[str, list[PlannedOffset]] = {}
        for group_id in dict.fromkeys(options.group):
            if options.execute:
                await _require_inactive(client, group_id)
            goal: Target
            if target is None:
                goal = _targets_of_file(options.from_file, group_id, alone=len(options.group) == 1)
                partitions = await _existing(client, goal)
            else:
                goal, partitions = target, await _scope(client, options, group_id)
            plans[group_id] = await offset_resets.plan_reset(client, group_id, partitions, goal)
        if options.export is not None:
            _write_file(options.export, _undo(plans))
        if options.execute:
            for group_id, plan in plans.items():
                await offset_resets.commit_plan(client, group_id, plan)
        return plans

    plans = with_client(cluster_access(options), work)
    rows = (_reset_row(group_id, one) for group_id, plan in plans.items() for one in plan)
    print_rows(output_format(options), _RESET_COLUMNS, rows)
    if not options.execute:
        print(_DRY_RUN, file=sys.stderr)
    return ExitCode.DONE


async def _require_inactive(client: "Client", group_id: str) -> None:
    described = (await client.admin.describe_groups([group_id]))[group_id]
    if described.error is not None and _is_not_found(described.error):
        # Offsets may be committed for a group that does not exist yet.
        return
    if described.error is not None:
        raise command_error(described.error) from described.error
    if described.members:
        raise CommandError(
            f"Group {group_id} is {described.state} with {len(described.members)} members: its offsets are theirs.",
            ExitCode.CONFLICT,
            remedy="Stop its consumers first, and try again when `ottla groups describe` shows it Empty.",
        )


def _is_not_found(error: "KafkaError") -> bool:
    return command_error(error).code is ExitCode.NOT_FOUND


async def _scope(client: "Client", options: argparse.Namespace, group_id: str) -> "list[TopicPartition]":
    if options.topic:
        return await resolve_selections(client, map(parse_selection, options.topic))
    return sorted(await offset_resets.committed_offsets(client, group_id))


def _targets_of_file(path: str, group_id: str, *, alone: bool) -> offset_resets.ToPlanned:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    plans = offset_resets.read_plan(text, path)
    found = plans.get(group_id) or (plans.get(None) if alone else None)
    if found is None:
        raise UsageError(f"{path} has no line for group {group_id}.")
    return offset_resets.ToPlanned(found, may_forget=True)


async def _existing(client: "Client", planned: offset_resets.ToPlanned) -> "list[TopicPartition]":
    return await resolve_selections(client, (parse_selection(f"{topic}:{n}") for topic, n in planned.offsets))


def _undo(plans: "dict[str, list[PlannedOffset]]") -> str:
    before = (
        (group_id, one.partition, offset_resets.NOTHING_COMMITTED if one.old is None else one.old)
        for group_id, plan in plans.items()
        for one in plan
    )
    return offset_resets.write_plan(before, with_group=True)


def _write_file(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}. Nothing was changed.") from error


def _reset_row(group_id: str, one: "PlannedOffset") -> dict[str, object]:
    return {
        "group": group_id,
        "topic": one.partition.topic,
        "partition": one.partition.partition,
        "old_offset": one.old,
        "new_offset": None if one.new == offset_resets.NOTHING_COMMITTED else one.new,
        "skipped": one.skipped,
        "replayed": one.replayed,
        "note": one.note,
    }


def delete_groups(options: argparse.Namespace) -> int:
    """Show what would go, and with --execute delete it."""
    if options.topic:
        return _delete_offsets(options)

    async def work(client: "Client") -> "tuple[list[dict[str, object]], dict[str, KafkaError | None]]":
        described = await client.admin.describe_groups(options.group)
        rows = [await _group_row(client, one) for one in described.values() if one.error is None]
        errors = {name: one.error for name, one in described.items()}
        if options.execute:
            present = [name for name, error in errors.items() if error is None]
            errors |= await client.admin.delete_groups(present)
        return rows, errors

    rows, errors = with_client(cluster_access(options), work)
    print_rows(output_format(options), _DELETE_COLUMNS, rows)
    if not options.execute:
        print(_DRY_RUN, file=sys.stderr)
    return report_errors("ottla groups", errors)


async def _group_row(client: "Client", described: "GroupDescription") -> dict[str, object]:
    committed = await client.admin.list_group_offsets(described.group_id)
    return {
        "group": described.group_id,
        "state": described.state,
        "members": len(described.members),
        "partitions": len(committed),
    }


def _delete_offsets(options: argparse.Namespace) -> int:
    selections = list(map(parse_selection, options.topic))

    async def work(client: "Client") -> "tuple[list[dict[str, object]], dict[str, KafkaError | None]]":
        rows: list[dict[str, object]] = []
        errors: dict[str, KafkaError | None] = {}
        for group_id in dict.fromkeys(options.group):
            # What is committed decides: the topic itself may be gone.
            committed = await offset_resets.committed_offsets(client, group_id)
            meant = [
                partition
                for partition in sorted(committed)
                for chosen in selections
                if chosen.topic == partition.topic
                and (chosen.partitions is None or partition.partition in chosen.partitions)
            ]
            rows += [
                {"group": group_id, "topic": one.topic, "partition": one.partition, "offset": committed[one]}
                for one in meant
            ]
            if options.execute and meant:
                outcome = await client.admin.delete_group_offsets(group_id, meant)
                errors |= {f"{group_id}, {partition}": error for partition, error in outcome.items()}
        return rows, errors

    rows, errors = with_client(cluster_access(options), work)
    print_rows(output_format(options), _DELETE_OFFSETS_COLUMNS, rows)
    if not options.execute:
        print(_DRY_RUN, file=sys.stderr)
    return report_errors("ottla groups", errors)
