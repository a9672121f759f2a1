"""Pull-based replication: the leader serves fetches, followers append what they get (KIP-595, KIP-630).

A fetch names the follower's log end (offset and epoch). The leader answers with records, with the point up to which
the logs may agree (the follower truncates and asks again), or with a snapshot when the log no longer reaches back. A
fetch at offset N also acknowledges that everything before N is durable on the follower: it is sent only after the
Ready that appended those records was persisted.
"""

from __future__ import annotations

from collections.abc import Hashable

from ottla.raft.elections import observe
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.log_view import Agreement
from ottla.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumError,
)
from ottla.raft.quorum import InvariantViolation, Quorum
from ottla.raft.ready import Reply, ServeFetch, ServeSnapshot, SnapshotChunk
from ottla.raft.roles import Follower, Leader
from ottla.raft.roles.follower import SnapshotDownload
from ottla.raft.roles.leader import ParkedFetch


def on_fetch_request(quorum: Quorum, request: FetchRequest, reply_to: Hashable, now_ms: int) -> None:
    role = quorum.role
    error = _refusal(quorum, request.epoch)
    if error is not QuorumError.NONE or not isinstance(role, Leader):
        quorum.ready.messages.append(Reply(reply_to, FetchResponse(error, quorum.epoch, role.leader_id)))
        return
    validation = quorum.log.validate(request.fetch_offset, request.last_fetched_epoch)
    if validation.agreement is not Agreement.VALID:
        role.heard_from(request.replica, now_ms)
        diverging = validation.position if validation.agreement is Agreement.DIVERGING else None
        snapshot = validation.position if validation.agreement is Agreement.SNAPSHOT else None
        response = FetchResponse(
            QuorumError.NONE, quorum.epoch, role.leader_id, quorum.high_watermark, diverging, snapshot
        )
        quorum.ready.messages.append(Reply(reply_to, response))
        return
    if role.fetched(request.replica, request.fetch_offset, quorum.log.end_offset, now_ms):
        quorum.advance_high_watermark(role.high_watermark)
    _supersede_parked(quorum, role, request)
    role.parked.append(ParkedFetch(request, reply_to, now_ms + max(request.max_wait_ms, 0)))


def release_parked(quorum: Quorum, role: Leader, now_ms: int) -> None:
    """Answer the parked fetches that have something new to get, or have waited long enough."""
    waiting: list[ParkedFetch] = []
    for parked in role.parked:
        request = parked.request
        has_news = quorum.log.end_offset > request.fetch_offset or quorum.high_watermark > request.high_watermark
        if has_news or now_ms >= parked.deadline_ms:
            _serve(quorum, role, parked)
        else:
            waiting.append(parked)
    role.parked = waiting


def refuse_parked(quorum: Quorum, former: Leader) -> None:
    """Leadership is lost: tell the waiting followers who leads now."""
    response = FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, quorum.epoch, quorum.role.leader_id)
    quorum.ready.messages.extend(Reply(parked.reply_to, response) for parked in former.parked)
    former.parked = []


def on_fetch_response(quorum: Quorum, sender_id: int, response: FetchResponse, now_ms: int) -> None:
    if not observe(quorum, response.epoch, response.leader_id, now_ms):
        return
    role = quorum.role
    if not isinstance(role, Follower) or role.leader_id != sender_id or response.error is not QuorumError.NONE:
        quorum.requests.back_off(sender_id, now_ms)
        return
    role.fetch_deadline_ms = now_ms + quorum.settings.fetch_timeout_ms
    role.has_fetched = True
    if response.diverging is not None:
        _truncate(quorum, response.diverging)
    elif response.snapshot is not None:
        if response.snapshot.offset < quorum.high_watermark:
            raise InvariantViolation(
                f"snapshot {response.snapshot} is older than the high watermark {quorum.high_watermark}"
            )
        role.download = SnapshotDownload(response.snapshot)
    else:
        _append_received(quorum, role, response, now_ms)


def on_fetch_snapshot_request(quorum: Quorum, request: FetchSnapshotRequest, reply_to: Hashable, now_ms: int) -> None:
    role = quorum.role
    error = _refusal(quorum, request.epoch)
    if error is not QuorumError.NONE or not isinstance(role, Leader):
        quorum.ready.messages.append(Reply(reply_to, FetchSnapshotResponse(error, quorum.epoch, role.leader_id)))
        return
    role.heard_from(request.replica, now_ms)
    quorum.ready.messages.append(
        ServeSnapshot(
            reply_to,
            role.epoch,
            role.leader_id,
            request.snapshot,
            request.position,
            quorum.settings.fetch_snapshot_max_bytes,
        )
    )


def on_fetch_snapshot_response(quorum: Quorum, sender_id: int, response: FetchSnapshotResponse, now_ms: int) -> None:
    if not observe(quorum, response.epoch, response.leader_id, now_ms):
        return
    role = quorum.role
    if not isinstance(role, Follower) or role.leader_id != sender_id or role.download is None:
        return
    download = role.download
    is_expected = response.snapshot == download.snapshot and response.position == download.position
    if response.error is not QuorumError.NONE or not is_expected:
        # The leader may have replaced the snapshot; its answer to the next fetch names the one that it has now.
        role.download = None
        quorum.requests.back_off(sender_id, now_ms)
        return
    role.fetch_deadline_ms = now_ms + quorum.settings.fetch_timeout_ms
    if response.data:
        quorum.ready.snapshot_chunk = SnapshotChunk(download.snapshot, download.position, response.data)
    download.position += len(response.data)
    if download.position >= response.size:
        _install(quorum, role, download.snapshot)


def next_fetch(quorum: Quorum, role: Follower) -> FetchRequest | FetchSnapshotRequest:
    if role.download is not None:
        return FetchSnapshotRequest(role.epoch, quorum.local, role.download.snapshot, role.download.position)
    return discovery_fetch(quorum)


def discovery_fetch(quorum: Quorum) -> FetchRequest:
    end = quorum.log.end
    return FetchRequest(
        quorum.epoch, quorum.local, end.offset, end.epoch, quorum.high_watermark, quorum.settings.fetch_max_wait_ms
    )


def _refusal(quorum: Quorum, epoch: int) -> QuorumError:
    if epoch < quorum.epoch:
        return QuorumError.FENCED_LEADER_EPOCH
    if epoch > quorum.epoch:
        return QuorumError.UNKNOWN_LEADER_EPOCH
    return QuorumError.NONE if isinstance(quorum.role, Leader) else QuorumError.NOT_LEADER_OR_FOLLOWER


def _supersede_parked(quorum: Quorum, role: Leader, request: FetchRequest) -> None:
    """Drop a fetch that is still parked: a replica has one at a time, so its sender has given it up."""
    for parked in [parked for parked in role.parked if parked.request.replica == request.replica]:
        role.parked.remove(parked)
        _serve(quorum, role, parked)


def _serve(quorum: Quorum, role: Leader, parked: ParkedFetch) -> None:
    quorum.ready.messages.append(
        ServeFetch(
            parked.reply_to,
            role.epoch,
            role.leader_id,
            quorum.high_watermark,
            parked.request.fetch_offset,
            quorum.log.end_offset,
            quorum.settings.fetch_max_bytes,
        )
    )


def _truncate(quorum: Quorum, diverging: OffsetAndEpoch) -> None:
    quorum.truncate_to(quorum.log.common_end_with(diverging))


def _append_received(quorum: Quorum, role: Follower, response: FetchResponse, now_ms: int) -> None:
    role.leader_high_watermark = response.high_watermark
    for batch in response.batches:
        if batch.base_offset != quorum.log.end_offset or not quorum.log.last_epoch <= batch.epoch <= role.epoch:
            # Records that do not continue our log are the peer's fault: drop them and ask again.
            quorum.requests.back_off(role.leader_id, now_ms)
            return
        quorum.add_to_log(batch)
    quorum.advance_high_watermark(min(response.high_watermark, quorum.log.end_offset))


def _install(quorum: Quorum, role: Follower, snapshot: OffsetAndEpoch) -> None:
    role.download = None
    quorum.install(snapshot)
