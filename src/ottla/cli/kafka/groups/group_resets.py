"""The part of kafka-consumer-groups that changes offsets: --reset-offsets and --delete-offsets."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, UsageError
from ottla.cli.groups import offset_resets
from ottla.cli.groups.offset_resets import PlannedOffset, ShiftBy, Target, ToPlanned
from ottla.cli.kafka.frame.java_errors import as_java
from ottla.cli.kafka.frame.java_times import datetime_ms, duration_ms
from ottla.cli.kafka.frame.options import read_option_file
from ottla.cli.kafka.groups import group_tables
from ottla.cli.words.partitions import TopicSelection, resolve_selections
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.client import Client, KafkaError, TopicPartition

Plans = dict[str, list[PlannedOffset]]

_INACTIVE_STATES = ("Empty", "Dead")


async def reset_offsets(client: "Client", options: argparse.Namespace) -> None:
    """Plan for each group, do it with --execute, and print the plan."""
    selections = [_selection(text) for text in options.topic]
    groups = await named_groups(client, options)
    file_plans = _file_plans(options.from_file)
    plans: Plans = {}
    for group_id in groups:
        if not await _is_inactive(client, group_id):
            continue
        if options.from_file is not None:
            found = file_plans.get(group_id) or (file_plans.get(None) if len(groups) == 1 else None)
            if found is None:
                print(f"\nError: No reset plan for group {group_id} found")
                continue
            target: Target = ToPlanned(found)
            partitions = await resolve_selections(client, (TopicSelection(topic, (n,)) for topic, n in found))
        else:
            target = _target(options)
            partitions = await _partitions(client, group_id, selections)
        plans[group_id] = await _plan(client, group_id, partitions, target)
    if options.execute:
        for group_id, plan in plans.items():
            await offset_resets.commit_plan(client, group_id, plan)
    planned = [(group_id, one.partition, one.new) for group_id, plan in plans.items() for one in plan]
    if options.export:
        print(offset_resets.write_plan(planned, with_group=len(groups) > 1))
    else:
        print("", *group_tables.reset_lines(groups, planned), sep="\n")


async def named_groups(client: "Client", options: argparse.Namespace) -> list[str]:
    """The groups of the line, or all that there are."""
    if not options.all_groups:
        return list(dict.fromkeys(options.group))
    return [group.group_id for group in await client.admin.list_groups() if group.protocol_type in ("consumer", "")]


async def _is_inactive(client: "Client", group_id: str) -> bool:
    described = (await client.admin.describe_groups([group_id]))[group_id]
    if described.error is None and described.state not in _INACTIVE_STATES:
        print(
            f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, "
            f"but the current state is {described.state}."
        )
        return False
    return True


async def _partitions(client: "Client", group_id: str, selections: list[TopicSelection]) -> "list[TopicPartition]":
    if selections:
        return await resolve_selections(client, selections)
    return sorted(await offset_resets.committed_offsets(client, group_id))


async def _plan(
    client: "Client", group_id: str, partitions: "list[TopicPartition]", target: Target
) -> list[PlannedOffset]:
    try:
        plan = await offset_resets.plan_reset(client, group_id, partitions, target)
    except CommandError as error:
        if isinstance(target, ShiftBy) and error.__cause__ is None:
            # Nothing is committed where the shift would start: Apache's tool takes that for a wrong line.
            raise UsageError(str(error)) from None
        raise
    for one in plan:
        if one.note is not None:
            _print_note(one.note)
    return plan


def _print_note(note: str) -> None:
    if note.startswith("Warn:"):
        print(f"\n{note}")
    else:
        print(f"WARN {note}", file=sys.stderr)


def _selection(text: str) -> TopicSelection:
    topic, separator, numbers = text.partition(":")
    if not separator:
        return TopicSelection(topic)
    partitions = []
    for number in numbers.split(","):
        try:
            partition = int32(number)
        except ValueError:
            partition = -1
        if partition < 0:
            raise UsageError(f"Invalid partition '{number}' specified in topic arg '{text}''")
        partitions.append(partition)
    return TopicSelection(topic, tuple(partitions))


def _target(options: argparse.Namespace) -> Target:
    if options.to_earliest:
        return offset_resets.ToEarliest()
    if options.to_latest:
        return offset_resets.ToLatest()
    if options.to_current:
        return offset_resets.ToCurrent()
    if options.to_offset is not None:
        return offset_resets.ToOffset(options.to_offset)
    if options.shift_by is not None:
        return ShiftBy(options.shift_by)
    if options.to_datetime is not None:
        return offset_resets.ToTime(datetime_ms(options.to_datetime))
    return offset_resets.ToTime(time.time_ns() // 1_000_000 - duration_ms(options.by_duration))


def _file_plans(path: str | None) -> "dict[str | None, dict[TopicPartition, int]]":
    if path is None:
        return {}
    return offset_resets.read_plan(read_option_file(path), path)


async def delete_offsets(client: "Client", options: argparse.Namespace) -> None:
    """Forget what a group committed for topics."""
    group_id = options.group[-1]
    outcomes: dict[tuple[str, int | None], KafkaError | None] = {}
    meant: list[TopicPartition] = []
    for selection in (_selection(text) for text in options.topic):
        try:
            meant += await resolve_selections(client, [selection])
        except CommandError as error:
            for number in selection.partitions or (None,):
                outcomes[selection.topic, number] = _kafka_error(error)
    answers, group_error = await _forget(client, group_id, meant)
    for partition, answer in answers.items():
        outcomes[partition.topic, partition.partition] = answer
    if group_error is not None:
        is_unknown = group_error.code.name == "GROUP_ID_NOT_FOUND"
        print(f"\nError: {'The group id does not exist.' if is_unknown else group_error.message}")
    elif any(answers.values()):
        print("\nError: Encountered some partition-level error, see the follow-up details.")
    else:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    statuses = sorted(
        (topic, -1 if number is None else number, "Successful" if error is None else f"Error: {as_java(error)}")
        for (topic, number), error in outcomes.items()
    )
    rows = [(topic, None if number < 0 else number, status) for topic, number, status in statuses]
    print("", *group_tables.deleted_offset_lines(rows), sep="\n")


async def _forget(
    client: "Client", group_id: str, meant: "list[TopicPartition]"
) -> "tuple[dict[TopicPartition, KafkaError | None], KafkaError | None]":
    """What became of each partition, and what the coordinator said of the group as a whole."""
    from ottla.client import KafkaError

    if not meant:
        return {}, None
    try:
        return await client.admin.delete_group_offsets(group_id, meant), None
    except KafkaError as error:
        return dict.fromkeys(meant, error), error


def _kafka_error(error: CommandError) -> "KafkaError":
    from ottla.client import KafkaError
    from ottla.protocol.errors import ErrorCode

    cause = error.__cause__
    return cause if isinstance(cause, KafkaError) else KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(error))
