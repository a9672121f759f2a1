"""AlterPartition: a leader reports who is in sync, and the controller writes it down (KIP-497).

The controller checks what the leader may not have heard of yet. A request based on an older epoch is refused, and a
replica whose broker is fenced, shuts down, or is another life than the leader has seen fetching (KIP-903) does not get
in. Each partition succeeds or fails alone.

Two answers need care. NOT_CONTROLLER for one partition: the leader knows a newer epoch than this node, so another node
must be the controller by now. NEW_LEADER_ELECTED: the change completed a reassignment that took the leadership away, so
this error comes with a change.

Versions: 2 has topic ids; 3 gives each replica with its broker epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.metadata.controller.brokers import known_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partition_change import RECOVERED, RECOVERING, Wanted, change_partition
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokersImage, ClusterImage, PartitionState
from ottla.metadata.image.topics import NO_LEADER_CHANGE
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState
from ottla.protocol.messages.alter_partition_request import PartitionData as Asked
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse, TopicData
from ottla.protocol.messages.alter_partition_response import PartitionData as Answered
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition

_BROKER_EPOCHS_FROM = 3
# A replica without a known broker epoch is not checked for it.
_NO_BROKER_EPOCH = -1


def alter_partition(
    image: ClusterImage, request: AlterPartitionRequest, *, api_version: int, rules: ElectionRules
) -> Decision[AlterPartitionResponse]:
    """ApiError STALE_BROKER_EPOCH for a request of an earlier life of the broker."""
    known_broker(image, request.broker_id, request.broker_epoch)
    records: list[Message] = []
    answers: list[TopicData] = []
    # A partition that is named twice meets its own change, not the image.
    changed: dict[TopicIdPartition, PartitionState] = {}
    for asked_topic in request.topics:
        topic = image.topics.by_id(asked_topic.topic_id)
        rows: list[Answered] = []
        for asked in asked_topic.partitions:
            index = asked.partition_index
            if topic is None:
                rows.append(Answered(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            key = (topic.id, index)
            state = changed.get(key) or topic.partition(index)
            wanted_isr = _wanted_isr(asked, api_version)
            error = _refusal(image.brokers, request.broker_id, state, asked, wanted_isr)
            if state is None or error is not ErrorCode.NONE:
                rows.append(Answered(partition_index=index, error_code=error))
                continue
            wanted = Wanted(isr=[row.broker_id for row in wanted_isr], recovery_state=asked.leader_recovery_state)
            by = rules.terms(image, topic.name).circumstances(state)
            record = change_partition(topic.id, index, state, wanted, by)
            if record is not None:
                records.append(record)
                changed[key] = state = state.changed_by(record)
                if record.leader not in (NO_LEADER_CHANGE, request.broker_id):
                    rows.append(Answered(partition_index=index, error_code=ErrorCode.NEW_LEADER_ELECTED))
                    continue
            rows.append(_answer(index, state))
        answers.append(TopicData(topic_id=asked_topic.topic_id, partitions=rows))
    return Decision(records, AlterPartitionResponse(topics=answers), is_atomic=False)


def _wanted_isr(asked: Asked, api_version: int) -> Sequence[BrokerState]:
    if api_version >= _BROKER_EPOCHS_FROM:
        return asked.new_isr_with_epochs
    return [BrokerState(broker_id=replica, broker_epoch=_NO_BROKER_EPOCH) for replica in asked.new_isr]


def _refusal(
    brokers: BrokersImage,
    leader_id: int,
    state: PartitionState | None,
    asked: Asked,
    wanted_isr: Sequence[BrokerState],
) -> ErrorCode:
    if state is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.leader_epoch > state.leader_epoch or asked.partition_epoch > state.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if asked.leader_epoch < state.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_id != state.leader:
        return ErrorCode.INVALID_REQUEST
    if asked.partition_epoch < state.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [row.broker_id for row in wanted_isr]
    if len(set(isr)) != len(isr) or not set(isr) <= set(state.replicas) or state.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if not _is_recovery_possible(state, asked.leader_recovery_state, isr):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(brokers, row) for row in wanted_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _is_recovery_possible(state: PartitionState, recovery_state: int, isr: Sequence[int]) -> bool:
    """A leader that recovers is alone in sync, and only an election can begin a recovery."""
    if recovery_state == RECOVERED:
        return True
    return recovery_state == RECOVERING == state.leader_recovery_state and len(isr) == 1


def _is_eligible(brokers: BrokersImage, replica: BrokerState) -> bool:
    broker = brokers.get(replica.broker_id)
    return (
        broker is not None
        and brokers.is_active(replica.broker_id)
        and replica.broker_epoch in (_NO_BROKER_EPOCH, broker.epoch)
    )


def _answer(index: int, state: PartitionState) -> Answered:
    return Answered(
        partition_index=index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        leader_recovery_state=state.leader_recovery_state,
        partition_epoch=state.partition_epoch,
    )
