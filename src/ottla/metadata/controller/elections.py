"""Elections that somebody asks for (KIP-460), and those that the controller holds by itself.

    preferred   the first replica of the list should lead, so that leaderships are spread as they were placed
    unclean     a replica that may lack records should lead rather than none, where the topic allows it

The controller's own elections are a few at a time: `limit` of them, and the answer says whether there may be more.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partition_change import Election, Wanted, change_partition
from ottla.metadata.controller.partitions import Located, not_led_by_preferred, without_leader
from ottla.metadata.decision import Decision
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest
from ottla.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.schema import Message


class ElectionType(IntEnum):
    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(
    image: ClusterImage, request: ElectLeadersRequest, *, rules: ElectionRules
) -> Decision[ElectLeadersResponse]:
    """A request that names no partitions means all; then those that need no election are left out of the answer."""
    elections = _Elections(image, _election_type(request.election_type), rules)
    is_for_all = request.topic_partitions is None
    if request.topic_partitions is None:
        named = [(topic.name, sorted(topic.partitions)) for topic in sorted(image.topics, key=lambda topic: topic.name)]
    else:
        named = [(row.topic, list(row.partitions)) for row in request.topic_partitions]
    results = []
    for topic, partitions in named:
        rows = [elections.elect(topic, partition) for partition in partitions]
        if is_for_all:
            rows = [row for row in rows if row.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=topic, partition_result=rows))
    response = ElectLeadersResponse(replica_election_results=results)
    return Decision(elections.records, response, is_atomic=False)


def elect_preferred_leaders(image: ClusterImage, *, rules: ElectionRules, limit: int) -> Decision[bool]:
    """Gives leaderships back to the preferred replicas that are in sync."""
    return _elect(image, not_led_by_preferred(image), rules, Election.PREFERRED, limit)


def elect_missing_leaders(image: ClusterImage, *, rules: ElectionRules, limit: int) -> Decision[bool]:
    """Finds leaders for partitions that have none: where the topic has come to allow an unclean election, or where a
    controller died before it had written all that follows from the return of a broker."""
    return _elect(image, without_leader(image), rules, None, limit)


def _elect(
    image: ClusterImage, partitions: Iterable[Located], rules: ElectionRules, election: Election | None, limit: int
) -> Decision[bool]:
    records: list[Message] = []
    for topic, partition_id, state in partitions:
        by = rules.terms(image, topic.name).circumstances(state, election=election)
        record = change_partition(topic.id, partition_id, state, Wanted(), by)
        if record is not None:
            records.append(record)
            if len(records) == limit:
                return Decision(records, True)
    return Decision(records, False)


class _Elections:
    """The elections of one request. A partition that is named twice meets its own change, not the image."""

    def __init__(self, image: ClusterImage, election_type: ElectionType, rules: ElectionRules) -> None:
        self._image = image
        self._type = election_type
        self._rules = rules
        self._changed: dict[tuple[str, int], PartitionState] = {}
        self.records: list[PartitionChangeRecord] = []

    def elect(self, topic_name: str, partition_id: int) -> PartitionResult:
        error = ErrorCode.NONE
        message: str | None = None
        try:
            error = self._elect(topic_name, partition_id)
        except ApiError as refused:
            error, message = refused.code, refused.message
        return PartitionResult(partition_id=partition_id, error_code=error, error_message=message)

    def _elect(self, topic_name: str, partition_id: int) -> ErrorCode:
        topic = self._image.topics.by_name(topic_name)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic_name}")
        state = self._changed.get((topic_name, partition_id)) or topic.partition(partition_id)
        if state is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic_name}-{partition_id}")
        is_preferred = self._type is ElectionType.PREFERRED
        if state.leader == state.preferred_leader if is_preferred else state.leader != NO_LEADER:
            return ErrorCode.ELECTION_NOT_NEEDED
        election = Election.PREFERRED if is_preferred else Election.UNCLEAN
        by = self._rules.terms(self._image, topic_name).circumstances(state, election=election)
        record = change_partition(topic.id, partition_id, state, Wanted(), by)
        if record is None:
            return (
                ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if is_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
            )
        self.records.append(record)
        self._changed[(topic_name, partition_id)] = state.changed_by(record)
        return ErrorCode.NONE


def _election_type(number: int) -> ElectionType:
    try:
        return ElectionType(number)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {number}") from None
