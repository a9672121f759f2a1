"""What `ottla groups` changes: offsets moved to another place, offsets and groups deleted.

Each shows first what it would do, and does it with --execute; the offsets of a group with members are theirs.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error, exit_code_of
from ottla.cli.groups import offset_resets
from ottla.cli.output import print_rows
from ottla.cli.verbs import output_format
from ottla.cli.words.partitions import parse_selection, resolve_selections

if TYPE_CHECKING:
    from ottla.cli.groups.offset_resets import PlannedOffset, Target
    from ottla.cli.outcomes import Errors
    from ottla.client import Client, ClientError, TopicPartition
    from ottla.client.admin.groups import GroupDescription

_RESET_COLUMNS = ("group", "topic", "partition", "old_offset", "new_offset", "skipped", "replayed", "note")
_DELETE_COLUMNS = ("group", "state", "members", "partitions")
_DELETE_OFFSETS_COLUMNS = ("group", "topic", "partition", "offset")


def reset_groups(options: argparse.Namespace) -> int:
    """Show, and with --execute make, the move of groups to other offsets."""
    import time

    if options.from_file is None and not (options.topic or options.all_topics):
        raise UsageError("Which topics?", remedy="Name them with --topic, or say --all-topics.")
    if options.from_file is not None and options.topic:
        raise UsageError("--from-file names the partitions itself: leave --topic out.")
    target = None if options.to is None else offset_resets.parse_target(options.to, time.time_ns() // 1_000_000)

    async def work(client: "Client") -> "tuple[dict[str, list[PlannedOffset]], Errors, bool]":
        plans: dict[str, list[PlannedOffset]] = {}
        problems: dict[str, CommandError | None] = {}
        for group_id in dict.fromkeys(options.group):
            described = (await client.admin.describe_groups([group_id]))[group_id]
            goal: Target
            if target is None:
                goal = _targets_of_file(options.from_file, group_id, alone=len(options.group) == 1)
                partitions = await _existing(client, goal)
            else:
                goal, partitions = target, await _scope(client, options, group_id)
            plan = await offset_resets.plan_reset(client, group_id, partitions, goal)
            plans[group_id] = list(map(_noted_as_new, plan)) if _is_new(described) else plan
            problems[group_id] = _problem_of_reset(described, plan)
        if options.export is not None:
            _write_file(options.export, _undo(plans))
        if acts := may_act(options, problems):
            for group_id, plan in plans.items():
                await offset_resets.commit_plan(client, group_id, plan)
        return plans, problems, acts

    plans, problems, acted = with_client(cluster_access(options), work)
    rows = (_reset_row(group_id, one) for group_id, plan in plans.items() for one in plan)
    print_rows(output_format(options), _RESET_COLUMNS, rows, errors=problems)
    return report_outcome("ottla groups", problems, acted=acted)


def _is_new(described: "GroupDescription") -> bool:
    return described.error is not None and exit_code_of(described.error) is ExitCode.NOT_FOUND


def _noted_as_new(one: "PlannedOffset") -> "PlannedOffset":
    return replace(one, note="new group" if one.note is None else f"new group. {one.note}")


def _problem_of_reset(described: "GroupDescription", plan: "Sequence[PlannedOffset]") -> CommandError | None:
    if described.error is None:
        return _problem_of_members(described)
    if not _is_new(described):
        return command_error(described.error)
    # Offsets may be committed for a group that does not exist yet; one without any is a name that was mistyped.
    if plan:
        return None
    return CommandError(
        "no such group.",
        ExitCode.NOT_FOUND,
        remedy="`ottla groups list` shows those that exist; with --topic a new one gets its first offsets.",
    )


def _problem_of_members(described: "GroupDescription") -> CommandError | None:
    if not described.members:
        return None
    return CommandError(
        f"the group is {described.state}, and its offsets are those of its {len(described.members)} members.",
        ExitCode.CONFLICT,
        remedy="Stop its consumers first, and try again when `ottla groups describe` shows it Empty.",
    )


async def _scope(client: "Client", options: argparse.Namespace, group_id: str) -> "list[TopicPartition]":
    if options.topic:
        return await resolve_selections(client, map(parse_selection, options.topic))
    return sorted(await offset_resets.committed_offsets(client, group_id))


def _targets_of_file(path: str, group_id: str, *, alone: bool) -> offset_resets.ToPlanned:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} cannot be read: it is not UTF-8 text.") from error
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

    async def work(client: "Client") -> "tuple[list[dict[str, object]], Errors, bool]":
        described = await client.admin.describe_groups(options.group)
        rows = [await _group_row(client, one) for one in described.values() if one.error is None]
        errors: Errors = {name: one.error or _problem_of_members(one) for name, one in described.items()}
        if acts := may_act(options, errors):
            errors = await client.admin.delete_groups(list(described))
        return rows, errors, acts

    rows, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _DELETE_COLUMNS, rows, errors=errors)
    return report_outcome("ottla groups", errors, acted=acted)


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

    async def work(client: "Client") -> "tuple[list[dict[str, object]], Errors, bool]":
        rows: list[dict[str, object]] = []
        errors: dict[str, ClientError | CommandError | None] = {}
        plans: dict[str, list[TopicPartition]] = {}
        for group_id in dict.fromkeys(options.group):
            # What is committed decides: the topic itself may be gone.
            committed = await offset_resets.committed_offsets(client, group_id)
            plans[group_id] = sorted(one for one in committed if any(chosen.includes(one) for chosen in selections))
            rows += [
                {"group": group_id, "topic": one.topic, "partition": one.partition, "offset": committed[one]}
                for one in plans[group_id]
            ]
            errors |= {
                f"{group_id}, {text}": CommandError("nothing is committed there.", ExitCode.NOT_FOUND)
                for text, chosen in zip(options.topic, selections, strict=True)
                if not any(map(chosen.includes, committed))
            }
        if acts := may_act(options, errors):
            for group_id, meant in plans.items():
                outcome = await client.admin.delete_group_offsets(group_id, meant)
                errors |= {f"{group_id}, {partition}": error for partition, error in outcome.items()}
        return rows, errors, acts

    rows, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _DELETE_OFFSETS_COLUMNS, rows, errors=errors)
    return report_outcome("ottla groups", errors, acted=acted)
