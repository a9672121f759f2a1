"""The other voter of a quorum of two, as a test wants it: node 1 is real, node 2 is played."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from harness.hosts import ClockedMachine
from harness.lone_quorum import NoPeers
from ottla.broker.quorum import MetadataLog, MetadataQuorumSettings
from ottla.broker.quorum.opening import MetadataFiles
from ottla.metadata.format import plan_format
from ottla.metadata.log_batches import encode_values, read_control_records
from ottla.metadata.record_serde import encode_record
from ottla.protocol.schema import Message as Record
from ottla.raft import (
    Batch,
    OffsetAndEpoch,
    OpaqueContent,
    QuorumSettings,
    ReplicaKey,
    Request,
    RequestReceived,
    ResponseReceived,
    ServeFetch,
    Voter,
    VoterSet,
)
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    QuorumError,
    RequestMessage,
    ResponseMessage,
    VoteRequest,
    VoteResponse,
)
from ottla.raft.ready import Message
from ottla.storage.file_system import OsFileSystem
from unit.broker.quorum.memory_log_store import MemoryLogStore

LOCAL = ReplicaKey(1, b"directory id one")
PEER = ReplicaKey(2, b"directory id two")
VOTERS = VoterSet((Voter(LOCAL), Voter(PEER)))
NOW_MS = 1_000_000

T = TypeVar("T", bound=RequestMessage)


class Node:
    """One node's disk, with a log in memory."""

    def __init__(self, root: Path, *, is_patient: bool = False, voters: VoterSet = VOTERS) -> None:
        """A patient node never stands for election by itself."""
        self.root = root
        self.directory = root / "__cluster_metadata-0"
        self.disk: list[bytes] = []
        timeout_ms = 3_600_000 if is_patient else 200
        self.settings = MetadataQuorumSettings(
            max_idle_interval_ms=0,
            raft=QuorumSettings(election_timeout_ms=timeout_ms, fetch_timeout_ms=3_600_000),
        )
        plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=voters, now_ms=NOW_MS)
        for name, data in plan.files.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_bytes(data)

    def open_log(self, start_offset: int) -> MemoryLogStore:
        self.log = MemoryLogStore(self.disk, start_offset)
        return self.log

    def create(self, peer: Peer) -> MetadataLog:
        log = MetadataLog(
            local=LOCAL,
            static_voters=None,
            files=MetadataFiles(self.directory, OsFileSystem(self.root), self.open_log),
            host=ClockedMachine(lambda: NOW_MS),
            transport=peer,
            settings=self.settings,
        )
        peer.log = log
        return log


class Peer(NoPeers):
    """Keeps what it is sent for the test; with `votes` it elects node 1 and follows it."""

    def __init__(self, *, votes: bool = False) -> None:
        self.log: MetadataLog
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.votes = votes
        # A peer that is not following leaves everything uncommitted.
        self.is_following = True
        self.was_served = asyncio.Event()

    def check(self, local: ReplicaKey, voters: VoterSet) -> None: ...

    def send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if self.votes:
                asyncio.get_running_loop().call_soon(self._react, message)
            else:
                self.sent.put_nowait(message)

    async def asked(self, kind: type[T]) -> tuple[Request, T]:
        """The next request, which is of this kind."""
        request = await self.sent.get()
        assert isinstance(request, Request)
        assert isinstance(request.message, kind)
        return request, request.message

    def answer(self, request: Request, response: ResponseMessage) -> None:
        self.log.receive(ResponseReceived(PEER.id, request.correlation_id, response))

    def ask(self, request: RequestMessage) -> None:
        self.log.receive(RequestReceived(request, "node 2"))

    def fetch(self, offset: int, epoch: int, high_watermark: int = -1) -> None:
        self.ask(FetchRequest(epoch, PEER, offset, epoch if offset else 0, high_watermark, 3_600_000))

    def _react(self, message: Message) -> None:
        if isinstance(message, ServeFetch):
            if self.is_following:
                self.fetch(message.end_offset, message.epoch, message.high_watermark)
            else:
                self.was_served.set()
        elif isinstance(message, Request) and isinstance(message.message, VoteRequest):
            asked = message.message
            self.answer(message, VoteResponse(QuorumError.NONE, asked.epoch, None, True, asked.pre_vote))
        elif isinstance(message, Request) and isinstance(message.message, BeginQuorumEpochRequest):
            epoch = message.message.epoch
            self.answer(message, BeginQuorumEpochResponse(QuorumError.NONE, epoch, LOCAL.id))
            self.fetch(0, epoch)


def batch_of(base_offset: int, epoch: int, *records: Record) -> Batch:
    """A batch as a leader sends it."""
    data = bytes(encode_values([encode_record(record) for record in records], base_offset, epoch, NOW_MS))
    return opaque(base_offset, len(records), epoch, data)


def opaque(base_offset: int, count: int, epoch: int, data: bytes) -> Batch:
    control = tuple(record for found in read_control_records(data).control for record in found.records)
    return Batch(base_offset, count, epoch, OpaqueContent(data, control))


def fetched(
    *batches: Batch, high_watermark: int, epoch: int = 1, snapshot: OffsetAndEpoch | None = None
) -> FetchResponse:
    return FetchResponse(QuorumError.NONE, epoch, PEER.id, high_watermark, None, snapshot, batches)
