"""How raft's messages leave a node and reach it: what the metadata log needs of a network, and offers to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ottla.broker.quorum.snapshot_files import SnapshotPiece
from ottla.client.addresses import Address
from ottla.protocol.compression import Buffer
from ottla.protocol.schema import Message as WireMessage
from ottla.raft import (
    OffsetAndEpoch,
    ReplicaKey,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    VoterSet,
)
from ottla.raft.ready import Message


class UnusableQuorum(Exception):
    """This node must not run with its metadata directory; the message says why and what to do."""


class Replica(Protocol):
    """The replica of the metadata log that a transport works for."""

    @property
    def voters(self) -> VoterSet:
        """The voters of the newest record in the log."""

    @property
    def leader_epoch(self) -> int | None:
        """The epoch that this replica leads, None if it does not."""

    def receive(self, event: RequestReceived | ResponseReceived | RequestFailed) -> None:
        """Takes a message of another node, or the failure of a request."""

    def met_foreign_cluster(self, whom: str, cluster_id: str) -> None:
        """A node has answered that belongs to another cluster than this one, `cluster_id`."""

    async def read_records(self, from_offset: int, end_offset: int, max_bytes: int) -> Buffer:
        """Whole batches from the one that begins at `from_offset`, at least one."""

    async def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> SnapshotPiece | None:
        """A piece of a snapshot file; None if there is no such file."""


class Transport(Protocol):
    """Carries messages to other nodes, and theirs to the replica."""

    @property
    def bootstrap_ids(self) -> tuple[int, ...]:
        """Negative ids for nodes of which only the address is known (controller.quorum.bootstrap.servers)."""

    def attach(self, replica: Replica) -> None:
        """Says whose messages are carried; called once, before the first one."""

    def check(self, local: ReplicaKey, voters: VoterSet) -> None:
        """UnusableQuorum if these voters cannot be reached."""

    def address_of(self, node_id: int) -> Address | None:
        """Where a controller listens; None if nobody knows."""

    def is_gone(self, node_id: int) -> bool:
        """Whether the address of a controller refused the last connection: its process is not there."""

    def send(self, messages: Sequence[Message]) -> None:
        """Sends messages without waiting. All that they promise is durable."""

    async def respond(self, request: WireMessage, api_version: int) -> WireMessage:
        """Answers a request of another node, once raft has decided it and what the answer promises is durable."""

    async def stop(self) -> None:
        """Ends every request and connection."""
