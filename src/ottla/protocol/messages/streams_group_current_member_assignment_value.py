"""StreamsGroupCurrentMemberAssignmentValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class TaskIds(Message):
    __slots__ = ("subtopology_id", "partitions", "assignment_epochs")
    FIELDS = (
        ("subtopology_id", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
        ("assignment_epochs", "[]int32", "0+", "0+", 0, "0+"),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = partitions
        self.assignment_epochs = assignment_epochs


class StreamsGroupCurrentMemberAssignmentValue(Message):
    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
    )
    FIELDS = (
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("previous_member_epoch", "int32", "0+", "", -1, ""),
        ("state", "int8", "0+", "", -1, ""),
        ("active_tasks", "[]TaskIds", "0+", "", -1, ""),
        ("standby_tasks", "[]TaskIds", "0+", "", -1, ""),
        ("warmup_tasks", "[]TaskIds", "0+", "", -1, ""),
        ("active_tasks_pending_revocation", "[]TaskIds", "0+", "", -1, ""),
        ("standby_tasks_pending_revocation", "[]TaskIds", "0+", "", -1, ""),
        ("warmup_tasks_pending_revocation", "[]TaskIds", "0+", "", -1, ""),
    )
    API_KEY = 22
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: Sequence[TaskIds] = (),
        standby_tasks: Sequence[TaskIds] = (),
        warmup_tasks: Sequence[TaskIds] = (),
        active_tasks_pending_revocation: Sequence[TaskIds] = (),
        standby_tasks_pending_revocation: Sequence[TaskIds] = (),
        warmup_tasks_pending_revocation: Sequence[TaskIds] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.active_tasks_pending_revocation = active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = warmup_tasks_pending_revocation
