"""The tables of kafka-consumer-groups: its columns, its widths, `-` for what is not known."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ottla.cli.groups.lags import REBALANCING_STATES

if TYPE_CHECKING:
    from ottla.cli.groups.lags import GroupLag
    from ottla.client import TopicPartition
    from ottla.client.admin.groups import GroupDescription, GroupListing, MemberDescription

_MISSING = "-"


def listing_lines(groups: "Sequence[GroupListing]", *, with_type: bool, with_state: bool) -> Iterable[str]:
    """Groups, with their type and state where asked for."""
    if not with_type and not with_state:
        return [group.group_id for group in groups]
    width = max([15, *(len(group.group_id) for group in groups)]) + 10
    rows = [["GROUP"], *([group.group_id] for group in groups)]
    for is_wanted, title, values in (
        (with_type, "TYPE", [group.type.capitalize() for group in groups]),
        (with_state, "STATE", [group.state for group in groups]),
    ):
        if is_wanted:
            for row, value in zip(rows, [title, *values], strict=True):
                row.append(value)
    return [" ".join((row[0].ljust(width), *(cell.ljust(20) for cell in row[1:]))) for row in rows]


def offset_lines(lag: "GroupLag", *, verbose: bool) -> list[str]:
    """The partitions of a group."""
    rows: list[list[object]] = [["GROUP", "TOPIC", "PARTITION"]]
    rows[0] += ["LEADER-EPOCH"] if verbose else []
    rows[0] += ["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
    for row in lag.partitions:
        cells: list[object] = [lag.description.group_id, *row.partition]
        cells += [row.leader_epoch] if verbose else []
        cells += [row.current_offset, row.log_end_offset, row.lag, *_reader(row.member)]
        rows.append(cells)
    widths = [15, 15, 10, *([15] if verbose else []), 15, 15, 15, 15, 15, 0]
    growing = {0, 1, len(widths) - 3, len(widths) - 2}
    return _table(rows, widths, growing)


def _reader(member: "MemberDescription | None") -> list[object]:
    return [None, None, None] if member is None else [member.member_id, member.host, member.client_id]


def member_lines(group: "GroupDescription", *, verbose: bool) -> list[str]:
    """The members of a group; the column of instance ids is there if one has such an id."""
    has_instances = any(member.instance_id for member in group.members)
    rows: list[list[object]] = [["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if has_instances else [])]]
    rows[0] += ["HOST", "CLIENT-ID", "#PARTITIONS"]
    if verbose:
        rows[0] += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    for member in sorted(group.members, key=lambda member: len(member.assignment), reverse=True):
        cells: list[object] = [group.group_id, member.member_id]
        cells += [member.instance_id or ""] if has_instances else []
        cells += [member.host, member.client_id, len(member.assignment)]
        if verbose:
            target_epoch = group.target_assignment_epoch
            cells += [
                None if member.member_epoch < 0 else member.member_epoch,
                assignment_text(member.assignment),
                None if target_epoch < 0 else target_epoch,
                assignment_text(member.target_assignment),
            ]
        rows.append(cells)
    # A space follows the last column of the short table, and none that of the long one.
    widths = [15, 15, *([17] if has_instances else []), 15, 15, *([15, 15, 20, 15, 20] if verbose else [16])]
    names = len(widths) - (4 if verbose else 0) - 1
    growing = set(range(names)) | ({names + 2, names + 4} if verbose else set())
    return _table(rows, widths, growing)


def assignment_text(partitions: "Iterable[TopicPartition] | None") -> str:
    """Partitions as `orders:0,1;payments:3`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions or ()):
        by_topic.setdefault(topic, []).append(number)
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic.items()) or _MISSING


def state_lines(group: "GroupDescription", *, verbose: bool) -> list[str]:
    """A group's coordinator, strategy and state."""
    at = group.coordinator
    coordinator = _MISSING if at is None else f"{at.address.host}:{at.address.port}  ({at.node_id})"
    header: list[object] = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    row: list[object] = [group.group_id, coordinator, group.assignor or None, group.state]
    if verbose:
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        row += [None if epoch < 0 else epoch for epoch in (group.group_epoch, group.target_assignment_epoch)]
    widths = [15, 25, 20, 20, *([15, 25] if verbose else []), 0]
    return _table([[*header, "#MEMBERS"], [*row, len(group.members)]], widths, {0, 1})


def state_remark(group: "GroupDescription") -> str | None:
    """What there is to say about the state of a group before its table."""
    if group.state == "Empty":
        return f"\nConsumer group '{group.group_id}' has no active members."
    if group.state in REBALANCING_STATES:
        return f"\nWarning: Consumer group '{group.group_id}' is rebalancing."
    return None


def reset_lines(groups: Iterable[str], planned: "Iterable[tuple[str, TopicPartition, int]]") -> list[str]:
    """Where groups will be, or are; those without a plan still have their place in the first column."""
    rows: list[list[object]] = [["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]]
    rows += [[group_id, *partition, offset] for group_id, partition, offset in planned]
    return _table(rows, [max([15, *map(len, groups)]), 15, 10, 0], {1})


def deleted_offset_lines(outcomes: Iterable[tuple[str, int | None, str]]) -> list[str]:
    """What became of each partition's offset."""
    rows: list[Sequence[object]] = [("TOPIC", "PARTITION", "STATUS"), *outcomes]
    return _table(rows, [15, 10, 15], {0})


def _table(rows: Sequence[Sequence[object]], widths: Sequence[int], growing: set[int]) -> list[str]:
    """Lines with columns of these widths; the growing ones are as wide as what they hold. Width 0 is not padded."""
    texts = [[_MISSING if cell is None else str(cell) for cell in row] for row in rows]
    final = [
        max(width, *(len(row[index]) for row in texts)) if index in growing else width
        for index, width in enumerate(widths)
    ]
    return [" ".join(cell.ljust(width) for cell, width in zip(row, final, strict=True)) for row in texts]
