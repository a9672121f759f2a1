"""Watches what the nodes of a simulated cluster answer: nobody is told of what is not so, or not so for good.

In the moment of the answer:

- an append is acknowledged under acks=all: it is committed, its leader epoch holds, the record at its offset is the
  one that was appended, and as many replicas may be in sync as the topic asks for;
- a follower takes an answer: it was asked for from where the log ends now, in the epoch that holds;
- a client hears where a partition ends: no leader has committed more (KIP-207);
- a coordinator's shard serves: all that it has read is committed;
- a transaction coordinator hears that a marker is written: every replica that is in sync has it, and no partition takes
  a marker of a coordinator after one of its successor;
- the controller takes a change of an in-sync set: it was made from the state that it changes;
- the controller decides on behalf of a broker: the request is of the life that is registered; the answer leaves when
  the decision is committed;
- a broker may lead: it has followed its own registration; it may stop: those to which it gave its leaderships know of
  it.

A voter promises more than a broker. What leaves it, a vote or the word how far it has come, is on its disk, and it has
one vote in an epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from ottla.broker.controller import deciders
from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.controller.role import ControllerRole
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.handlers import k00_produce, k02_list_offsets, k27_write_txn_markers
from ottla.broker.quorum.network import QuorumNetwork
from ottla.broker.quorum.quorum_state_file import FILE_NAME
from ottla.broker.requests import produce_run
from ottla.broker.requests.fetching import READ_COMMITTED
from ottla.metadata.controller.heartbeats import Heartbeat, HeartbeatResult
from ottla.metadata.decision import Decision
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.metadata.image import ClusterImage
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse
from ottla.protocol.messages.list_offsets_request import ListOffsetsRequest
from ottla.protocol.record_batch import iterate_headers
from ottla.protocol.schema import Message as WireMessage
from ottla.protocol.topic_partition import TopicPartition
from ottla.raft.messages import FetchRequest, VoteResponse
from ottla.raft.ready import Message, Reply, Request
from ottla.replication.follower_state import Discard, FetchPosition, FollowerState
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.log import AppendInfo, Log
from ottla.testing.sim.hooks import after, after_awaited, around
from ottla.testing.sim.server import SimulatedServer

# With this transaction.version a marker has a later epoch than the records that it ends (KIP-890).
_EPOCH_BUMP_VERSION = 2
_NOBODY = -1
_NO_EPOCH = -1


class WatchedCluster(Protocol):
    """What is known of the cluster as a whole."""

    @property
    def newest_image(self) -> ClusterImage: ...

    def committed_offset(self, partition: Partition) -> int:
        """How far it was ever committed."""

    def is_newest_leader(self, partition: Partition) -> bool:
        """Whether nobody has begun to lead after this leader."""


class AnswerWatch:
    """Looks at every answer of the nodes, and tells what is wrong with it."""

    def __init__(
        self, servers: Sequence[SimulatedServer], cluster: WatchedCluster, tell: Callable[[str], None]
    ) -> None:
        self._servers = {server.config.node_id: server for server in servers}
        self._cluster = cluster
        self._tell = tell
        # By voter and epoch, as the voter has noted it.
        self._votes: dict[tuple[int, int], int] = {}
        # Responses of the controller, by identity, and where the decision ends that each of them tells of.
        self._decisions: dict[int, tuple[WireMessage, int]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hears every answer, as long as the context lasts."""
        owner: Any
        with ExitStack() as stack:
            for owner, name, note in (
                (Partition, "is_acknowledged", self._note_acknowledged),
                (k02_list_offsets, "_place", self._note_end_offset),
                (CoordinatorRuntime, "_put_to_work", self._note_shard),
                (ActiveController, "decide", self._note_decision),
                (deciders, "allocate_producer_ids", self._note_producer_ids),
                (deciders, "answer_heartbeat", self._note_heartbeat),
            ):
                stack.enter_context(after(owner, name, note))
            for module in (k00_produce, produce_run, k27_write_txn_markers):
                stack.enter_context(after_awaited(module, "wait_until_acknowledged", self._note_waited))
            stack.enter_context(after_awaited(ControllerRole, "submit", self._note_decided))
            for owner, name, begin in (
                (FollowerState, "answered", self._note_fetched),
                (Log, "append_own_as_leader", self._note_marker),
                (MarkerWriter, "_answered", self._note_marker_answer),
                (deciders, "alter_partition", self._note_alter_partition),
                (QuorumNetwork, "send", self._note_messages),
            ):
                stack.enter_context(around(owner, name, begin))
            yield

    def _demand(self, condition: bool, what: str) -> None:
        if not condition:
            self._tell(what)

    # -- producers and readers ----------------------------------------------------------------------------------------

    def _note_acknowledged(self, is_acknowledged: bool, partition: Partition, acks: int, appended: AppendInfo) -> None:
        if not is_acknowledged or acks != ACKS_ALL or appended.is_duplicate:
            return
        self._demand(
            partition.log.high_watermark > appended.last_offset,
            f"{partition} acknowledges offset {appended.last_offset}: it is committed up to "
            f"{partition.log.high_watermark}",
        )
        found = partition.log.leader_epochs.epoch_of(appended.last_offset)
        self._demand(
            found == appended.leader_epoch == partition.leader_epoch,
            f"{partition} acknowledges offset {appended.last_offset} of epoch {appended.leader_epoch}, and has a "
            f"record of epoch {found} there",
        )

    def _note_waited(self, is_acknowledged: bool, partition: Partition, acks: int, *_: Any) -> None:
        leader = partition._leader
        if is_acknowledged and acks == ACKS_ALL and leader is not None:
            self._demand(
                len(leader.maximal_in_sync) >= leader.effective_min_insync_replicas,
                f"{partition} acknowledges for {leader.maximal_in_sync}, fewer than must be in sync",
            )

    def _note_end_offset(
        self, place: tuple[int, int, int] | None, partition: Partition, request: ListOffsetsRequest, timestamp: int
    ) -> None:
        is_for_all_records = request.replica_id < 0 and request.isolation_level != READ_COMMITTED
        if place is None or timestamp != k02_list_offsets.LATEST or not is_for_all_records:
            return
        if self._cluster.is_newest_leader(partition):
            committed = self._cluster.committed_offset(partition)
            self._demand(
                place[1] >= committed, f"{partition} is said to end at {place[1]}: it is committed up to {committed}"
            )

    def _note_fetched(self, state: FollowerState, asked: FetchPosition, *_: Any) -> Callable[[object], None] | None:
        position = state.position
        if asked == position:
            return None
        return lambda step: self._demand(
            isinstance(step, Discard), f"a follower at {position} takes what was asked for as {asked}"
        )

    # -- coordinators -------------------------------------------------------------------------------------------------

    def _note_shard(self, _: None, runtime: CoordinatorRuntime[Any, Any], index: int, loaded: object) -> None:
        del loaded
        log = runtime._log
        assert isinstance(log, PartitionCoordinatorLog)
        partition = log._replicas.find(log._topic, index)
        if partition is None or not partition.is_leader or partition.leader_epoch != runtime._epochs[index]:
            return
        self._demand(
            partition.log.high_watermark >= partition.log.log_end_offset,
            f"the shard of {partition} serves what ends at {partition.log.log_end_offset}, and is committed up to "
            f"{partition.log.high_watermark}",
        )

    def _note_marker(self, log: Log, records: Any, **_: Any) -> Callable[[object], None] | None:
        headers = [header for _, header in iterate_headers(records)]
        marker = parse_end_txn_marker(records, headers[0]) if headers[0].is_control else None
        if marker is None:
            return None
        producer_id = headers[0].producer_id
        known = log.producers.get(producer_id)
        newest_epoch = -1 if known is None else known.coordinator_epoch

        def end(_: object) -> None:
            self._demand(
                marker.coordinator_epoch >= newest_epoch,
                f"{log.directory.name} takes a marker of coordinator epoch {marker.coordinator_epoch} for producer "
                f"{producer_id} after one of {newest_epoch}",
            )

        return end

    def _note_marker_answer(self, _: MarkerWriter, portion: Any, codes: Any) -> None:
        metadata = portion.ending.metadata
        told = (codes or {}).get(metadata.producer_id, {})
        if not portion.ending.is_over and metadata.client_transaction_version >= _EPOCH_BUMP_VERSION:
            for place in portion.partitions:
                if told.get(place) is ErrorCode.NONE:
                    self._check_marker(place, metadata.producer_id, metadata.producer_epoch)

    def _check_marker(self, place: TopicPartition, producer_id: int, marker_epoch: int) -> None:
        state = self._cluster.newest_image.topics.partition_of(*place)
        for node_id in () if state is None else state.isr:
            server = self._servers[node_id]
            node = server.node if server.is_up else None
            partition = None if node is None else node.replicas.find(*place)
            known = None if partition is None else partition.log.producers.get(producer_id)
            if known is not None and known.transaction_first_offset is not None and known.epoch < marker_epoch:
                self._tell(
                    f"the marker of producer {producer_id} in {place} counts as written, and {node_id}, which is in "
                    "sync, does not have it"
                )

    # -- the controller -----------------------------------------------------------------------------------------------

    def _note_alter_partition(
        self, image: ClusterImage, request: AlterPartitionRequest, **_: Any
    ) -> Callable[[Decision[AlterPartitionResponse]], None]:
        known_epochs = {
            (topic.topic_id, asked.partition_index): asked.partition_epoch
            for topic in request.topics
            for asked in topic.partitions
        }

        def end(decided: Decision[AlterPartitionResponse]) -> None:
            self._check_life("AlterPartition", image, request.broker_id, request.broker_epoch)
            for topic in decided.response.topics:
                for row in topic.partitions:
                    known = known_epochs[topic.topic_id, row.partition_index]
                    found = image.topics.by_id(topic.topic_id)
                    state = None if found is None else found.partition(row.partition_index)
                    self._demand(
                        row.error_code != ErrorCode.NONE or (state is not None and state.partition_epoch == known),
                        f"the in-sync set {row.isr} was reported in partition epoch {known}, and taken in "
                        f"{state and state.partition_epoch}",
                    )

        return end

    def _note_decision(self, decided: tuple[object, int], _: ActiveController, __: object) -> None:
        response, end_offset = decided
        if isinstance(response, WireMessage):
            self._decisions[id(response)] = response, end_offset

    def _note_decided(self, response: object, role: ControllerRole, _: object) -> None:
        _, end_offset = self._decisions.pop(id(response), (None, 0))
        self._demand(
            role._log.committed_offset >= end_offset,
            f"controller {role._log.local.id} answers {response}: its decision ends at {end_offset}, and the metadata "
            f"is committed up to {role._log.committed_offset}",
        )

    def _note_producer_ids(self, _: object, image: ClusterImage, broker_id: int, broker_epoch: int) -> None:
        self._check_life("AllocateProducerIds", image, broker_id, broker_epoch)

    def _note_heartbeat(
        self, decided: Decision[HeartbeatResult], image: ClusterImage, heartbeat: Heartbeat, *, sessions: Any, **_: Any
    ) -> None:
        self._check_life("BrokerHeartbeat", image, heartbeat.broker_id, heartbeat.broker_epoch)
        broker = image.brokers.get(heartbeat.broker_id)
        if broker is not None and broker.is_fenced and not decided.response.is_fenced:
            self._demand(
                heartbeat.metadata_offset >= broker.epoch,
                f"broker {broker.id} is unfenced, and has followed the metadata to {heartbeat.metadata_offset}: it "
                f"registered at {broker.epoch}",
            )
        if broker is None or not broker.is_in_controlled_shutdown or not decided.response.should_shut_down:
            # One that led nothing has nothing to give away.
            return
        session = sessions._sessions.get(heartbeat.broker_id)
        moved_at = None if session is None else session.shutdown_offset
        for other_id in (one.id for one in image.brokers if one.id != broker.id and image.brokers.is_active(one.id)):
            node = self._servers[other_id].node if self._servers[other_id].is_up else None
            if node is not None and node.broker is not None and moved_at is not None:
                followed = node.broker._metadata.image.end_offset - 1
                self._demand(
                    followed >= moved_at,
                    f"broker {broker.id} may stop, and {other_id} has followed the metadata to {followed}: the "
                    f"leaderships moved at {moved_at}",
                )

    def _check_life(self, what: str, image: ClusterImage, broker_id: int, broker_epoch: int) -> None:
        broker = image.brokers.get(broker_id)
        self._demand(
            broker is not None and broker.epoch == broker_epoch,
            f"{what} of broker {broker_id} counts in epoch {broker_epoch}: registered is {broker and broker.epoch}",
        )

    # -- the quorum ---------------------------------------------------------------------------------------------------

    def _note_messages(self, network: QuorumNetwork, messages: Sequence[Message]) -> None:
        promises = [message for message in messages if _is_promise(message)]
        if promises:
            server = self._servers[network._node_id]
            root = server.config.metadata_log_dir
            for name in server.disks[root].files_at_risk(root / METADATA_PARTITION_DIRECTORY):
                if name.startswith(FILE_NAME) or name.endswith(".log"):
                    self._tell(f"{server.name} promises {promises[0]}, and {name} is not durable")
            for message in promises:
                if isinstance(message, Reply):
                    self._check_vote(server, message.message.epoch)

    def _check_vote(self, server: SimulatedServer, epoch: int) -> None:
        node_id = server.config.node_id
        files = server.disks[server.config.metadata_log_dir].files()
        noted = json.loads(files.get(Path(METADATA_PARTITION_DIRECTORY, FILE_NAME), b"{}"))
        candidate_id, noted_epoch = noted.get("votedId", _NOBODY), noted.get("leaderEpoch", _NO_EPOCH)
        if noted_epoch > epoch:
            # One write may note several steps. Who has a later epoch on disk cannot vote in this one again.
            return
        if noted_epoch < epoch or candidate_id == _NOBODY:
            self._tell(f"{server.name} gives its vote in epoch {epoch}, and has noted {noted}")
        elif (first_id := self._votes.setdefault((node_id, epoch), candidate_id)) != candidate_id:
            self._tell(f"{server.name} votes for {first_id} and for {candidate_id} in epoch {epoch}")


def _is_promise(message: Message) -> bool:
    if isinstance(message, Reply):
        answer = message.message
        return isinstance(answer, VoteResponse) and answer.granted and not answer.pre_vote
    return isinstance(message, Request) and isinstance(message.message, FetchRequest)
