"""Fetches: what a leader serves and what a follower does with it."""

import pytest

from ottla.raft import (
    Batch,
    KRaftVersionContent,
    LogView,
    Membership,
    OffsetAndEpoch,
    OpaqueContent,
    Persisted,
    Propose,
    RaftNode,
    Ready,
    Reply,
    RequestReceived,
    ServeFetch,
    ServeSnapshot,
    SnapshotChunk,
    SnapshotCreated,
    SnapshotInstalled,
    Tick,
    VotersContent,
)
from ottla.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumError,
)
from ottla.raft.quorum import InvariantViolation
from ottla.raft.ready import ElectionState
from ottla.raft.roles import Follower
from unit.raft.replicas import SETTINGS, answer, batch, grant, key, log_of, replica, requests_of, voters


def leader(log: LogView | None = None, *, epoch: int = 0) -> RaftNode:
    """Replica 1 leads epoch + 1; its opening record is durable."""
    node = replica(log=log, election=ElectionState(epoch))
    pre_votes = requests_of(node.step(Tick(), 100))
    votes = requests_of(answer(node, pre_votes[2], grant(epoch, pre_vote=True), 100))
    answer(node, votes[2], grant(epoch + 1, pre_vote=False), 100)
    node.step(Persisted(node.log.end_offset, epoch + 1), 100)
    return node


def fetch(
    node: RaftNode, offset: int, last_epoch: int, *, epoch: int = 1, watermark: int = -1, by: int = 2, now_ms: int = 101
) -> Ready:
    request = FetchRequest(epoch, key(by), offset, last_epoch, watermark, max_wait_ms=30)
    return node.step(RequestReceived(request, by), now_ms)


def only(ready: Ready):
    (message,) = [m for m in ready.messages if isinstance(m, Reply | ServeFetch | ServeSnapshot)]
    return message


def test_records_are_served_from_the_fetch_offset_to_the_log_end() -> None:
    served = only(fetch(leader(), 0, 0))
    assert (served.from_offset, served.end_offset, served.epoch) == (0, 3, 1)


def test_a_fetch_at_the_end_waits_for_news() -> None:
    node = leader()
    assert not fetch(node, 3, 1, watermark=3).messages
    woken = only(node.step(Propose((b"x",), None), 110))
    assert (woken.from_offset, woken.end_offset) == (3, 4)


def test_a_waiting_fetch_is_answered_at_its_deadline() -> None:
    node = leader()
    fetch(node, 3, 1, watermark=3)
    assert not [m for m in node.step(Tick(), 130).messages if isinstance(m, ServeFetch)]
    assert only(node.step(Tick(), 131)).high_watermark == 3


def test_a_follower_learns_of_a_new_high_watermark_without_waiting() -> None:
    node = leader()
    served = only(fetch(node, 3, 1, watermark=-1))
    assert served.high_watermark == 3


def test_the_high_watermark_moves_with_a_majority() -> None:
    node = leader()
    node.step(Propose((b"x",), None), 101)
    # Voter 2 holds the new record before the leader's own disk does.
    assert fetch(node, 4, 1).high_watermark == 3
    assert node.step(Persisted(4, 1), 102).high_watermark == 4


def test_records_of_older_epochs_are_committed_only_with_one_of_the_own() -> None:
    """Raft, figure 8: a majority holding an old epoch's record does not make it safe."""
    node = leader(log_of(batch(0, 2, 5)), epoch=2)
    fetch(node, 5, 2, epoch=3)
    assert node.high_watermark == -1
    fetch(node, 6, 3, epoch=3)
    assert node.high_watermark == 6


def test_a_diverging_follower_is_told_where_the_epoch_ends() -> None:
    node = leader(log_of(batch(0, 1, 5), batch(5, 3, 2)), epoch=3)
    reply = only(fetch(node, 9, 2, epoch=4))
    assert reply.message.diverging == OffsetAndEpoch(5, 1)


def test_a_follower_behind_the_log_start_is_sent_to_the_snapshot() -> None:
    log = LogView(start_offset=10, end_offset=10, snapshot=OffsetAndEpoch(10, 1))
    reply = only(fetch(leader(log, epoch=1), 4, 1, epoch=2))
    assert reply.message.snapshot == OffsetAndEpoch(10, 1)


@pytest.mark.parametrize(
    ("epoch", "error"), [(0, QuorumError.FENCED_LEADER_EPOCH), (2, QuorumError.UNKNOWN_LEADER_EPOCH)]
)
def test_a_fetch_of_another_epoch_is_refused(epoch: int, error: QuorumError) -> None:
    assert only(fetch(leader(), 0, 0, epoch=epoch)).message.error is error


def test_who_does_not_lead_names_the_leader() -> None:
    reply = only(fetch(replica(election=ElectionState(1, 3)), 0, 0))
    assert reply.message == FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, 1, 3)


def test_a_snapshot_is_served_piece_by_piece_by_the_leader_alone() -> None:
    request = FetchSnapshotRequest(1, key(2), OffsetAndEpoch(3, 1), 7)
    served = only(leader().step(RequestReceived(request, 2), 101))
    assert (served.snapshot, served.position) == (OffsetAndEpoch(3, 1), 7)
    refused = only(replica(election=ElectionState(1, 3)).step(RequestReceived(request, 2), 101))
    assert refused.message.error is QuorumError.NOT_LEADER_OR_FOLLOWER


class TestFollower:
    def follower(self, log: LogView | None = None):
        node = replica(log=log, election=ElectionState(5, 3))
        request = requests_of(node.step(Tick(), SETTINGS.request_timeout_ms))[3]
        return node, request

    def response(self, **fields) -> FetchResponse:
        return FetchResponse(QuorumError.NONE, 5, 3, **fields)

    def test_it_appends_and_asks_for_what_follows_only_after_that_is_durable(self) -> None:
        node, request = self.follower()
        ready = answer(node, request, self.response(high_watermark=1, batches=(batch(0, 5), batch(1, 5))), 60)
        assert [b.base_offset for b in ready.append] == [0, 1]
        assert ready.high_watermark == 1
        # The next fetch acknowledges the records, so it belongs to the same Ready, behind their fsync.
        assert requests_of(ready)[3].message.fetch_offset == 2

    def test_its_high_watermark_never_passes_its_log(self) -> None:
        node, request = self.follower()
        assert answer(node, request, self.response(high_watermark=50, batches=(batch(0, 5),)), 60).high_watermark == 1

    def test_it_truncates_where_the_logs_part(self) -> None:
        node, request = self.follower(log_of(batch(0, 1, 4), batch(4, 3, 4)))
        ready = answer(node, request, self.response(diverging=OffsetAndEpoch(4, 2)), 60)
        assert ready.truncate_to == 4
        assert requests_of(ready)[3].message.last_fetched_epoch == 1

    def test_it_refuses_to_truncate_committed_records(self) -> None:
        node, request = self.follower()
        ready = answer(node, request, self.response(high_watermark=2, batches=(batch(0, 5), batch(1, 5))), 60)
        with pytest.raises(InvariantViolation, match="lacks committed records"):
            answer(node, requests_of(ready)[3], self.response(diverging=OffsetAndEpoch(1, 5)), 61)

    @pytest.mark.parametrize("strange", [batch(7, 5), batch(0, 6)])
    def test_it_leaves_records_that_do_not_continue_its_log(self, strange) -> None:
        node, request = self.follower()
        assert not answer(node, request, self.response(batches=(strange,)), 60).append

    def test_an_answer_that_was_given_up_does_not_count(self) -> None:
        node, request = self.follower()
        node.step(Tick(), 50 + SETTINGS.request_timeout_ms)
        assert not answer(node, request, self.response(batches=(batch(0, 5),)), 101).append

    def test_it_downloads_a_snapshot_and_continues_behind_it(self) -> None:
        node, request = self.follower()
        snapshot = OffsetAndEpoch(40, 4)
        ready = answer(node, request, self.response(snapshot=snapshot), 60)
        first = requests_of(ready)[3]
        assert first.message == FetchSnapshotRequest(5, key(1), snapshot, 0)
        ready = answer(node, first, self.piece(snapshot, 0, b"abc"), 61)
        assert ready.snapshot_chunk == SnapshotChunk(snapshot, 0, b"abc")
        assert ready.install_snapshot is None
        ready = answer(node, requests_of(ready)[3], self.piece(snapshot, 3, b"de"), 62)
        assert ready.install_snapshot == snapshot
        assert ready.high_watermark == 40
        assert not ready.messages
        following = requests_of(node.step(SnapshotInstalled(snapshot, Membership(voters(1, 2, 3), 1)), 63))[3].message
        assert (following.fetch_offset, following.last_fetched_epoch) == (40, 4)

    def test_it_waits_for_the_voters_of_a_snapshot_before_it_fetches_or_stands(self) -> None:
        node, request = self.follower()
        snapshot = OffsetAndEpoch(40, 4)
        first = requests_of(answer(node, request, self.response(snapshot=snapshot), 60))[3]
        answer(node, first, self.piece(snapshot, 0, b"abcde"), 61)
        assert node.next_deadline_ms(61) is None
        assert not node.step(Tick(), 10_000).messages
        node.step(SnapshotInstalled(snapshot, Membership(voters(2, 3, 4), 1)), 10_001)
        assert node.voters == voters(2, 3, 4)
        assert isinstance(node.role, Follower)

    def test_it_goes_by_voters_that_are_not_committed_until_they_are_truncated(self) -> None:
        node, request = self.follower()
        named = Batch(0, 2, 5, OpaqueContent(b"voters", (KRaftVersionContent(1), VotersContent(voters(1, 2, 3, 4)))))
        ready = answer(node, request, self.response(batches=(named, batch(2, 5))), 60)
        assert node.voters == voters(1, 2, 3, 4)
        diverging = self.response(diverging=OffsetAndEpoch(0, 0))
        assert answer(node, requests_of(ready)[3], diverging, 61).truncate_to == 0
        assert node.voters == voters(1, 2, 3)

    def test_a_snapshot_that_is_gone_makes_it_ask_anew(self) -> None:
        node, request = self.follower()
        ready = answer(node, request, self.response(snapshot=OffsetAndEpoch(40, 4)), 60)
        gone = FetchSnapshotResponse(QuorumError.SNAPSHOT_NOT_FOUND, 5, 3)
        answer(node, requests_of(ready)[3], gone, 61)
        again = requests_of(node.step(Tick(), 90))[3]
        assert isinstance(again.message, FetchRequest)

    @staticmethod
    def piece(snapshot: OffsetAndEpoch, position: int, data: bytes) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(QuorumError.NONE, 5, 3, snapshot, 5, position, data)


def test_a_new_snapshot_serves_those_who_ask_for_what_is_gone() -> None:
    node = leader()
    node.step(SnapshotCreated(OffsetAndEpoch(3, 1)), 101)
    assert node.log.validate(3, 1).position == OffsetAndEpoch(3, 1)
