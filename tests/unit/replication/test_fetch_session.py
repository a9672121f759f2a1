"""KIP-227, rule by rule."""

from itertools import count

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication import fetch_session
from ottla.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_REPLICA_ID,
    FetchPartition,
    FetchScope,
    FetchSession,
    FetchSessionCache,
    PartitionKey,
)

EVICTION_MS = 120_000


def cache(slots: int = 2) -> FetchSessionCache:
    numbers = count(1)
    return FetchSessionCache(slots, EVICTION_MS, lambda: next(numbers))


def partition(index: int, offset: int = 0, topic: str = "t") -> FetchPartition:
    return FetchPartition(topic, index, offset, 1024, -1, -1)


def ask(
    sessions: FetchSessionCache,
    session_id: int,
    epoch: int,
    named: list[FetchPartition],
    forgotten: list[int] | None = None,
    *,
    is_privileged: bool = False,
    now_ms: int = 0,
    uses_topic_ids: bool = False,
) -> FetchScope:
    return sessions.scope(
        session_id,
        epoch,
        named,
        [("t", index) for index in forgotten or []],
        uses_topic_ids=uses_topic_ids,
        replica_id=1 if is_privileged else NO_REPLICA_ID,
        now_ms=now_ms,
    )


def test_a_request_without_session_gets_everything_and_no_session() -> None:
    sessions = cache()
    scope = ask(sessions, 0, FINAL_EPOCH, [partition(0)])
    assert (scope.session_id, scope.is_incremental, len(scope.partitions)) == (0, False, 1)
    assert len(sessions) == 0


def test_a_session_remembers_its_partitions_and_takes_changes() -> None:
    sessions = cache()
    opened = ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)])
    scope = ask(sessions, opened.session_id, 1, [partition(1, offset=7), partition(2)], [0])
    assert scope.is_incremental
    assert [(p.index, p.fetch_offset) for p in scope.partitions] == [(1, 7), (2, 0)]


def test_an_unknown_session_and_a_wrong_epoch_are_told_apart() -> None:
    sessions = cache()
    opened = ask(sessions, 0, INITIAL_EPOCH, [partition(0)])
    for session_id, epoch, code in (
        (99, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (opened.session_id, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    ):
        with pytest.raises(ApiError) as refused:
            ask(sessions, session_id, epoch, [])
        assert refused.value.code == code


def test_a_session_does_not_change_between_names_and_ids() -> None:
    sessions = cache()
    opened = ask(sessions, 0, INITIAL_EPOCH, [partition(0)])
    with pytest.raises(ApiError) as refused:
        ask(sessions, opened.session_id, 1, [], uses_topic_ids=True)
    assert refused.value.code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_closes_the_session_and_still_answers() -> None:
    sessions = cache()
    opened = ask(sessions, 0, INITIAL_EPOCH, [partition(0)])
    scope = ask(sessions, opened.session_id, FINAL_EPOCH, [partition(0)])
    assert (scope.session_id, len(scope.partitions), len(sessions)) == (0, 1, 0)


def test_the_initial_epoch_replaces_the_session() -> None:
    sessions = cache()
    first = ask(sessions, 0, INITIAL_EPOCH, [partition(0)])
    second = ask(sessions, first.session_id, INITIAL_EPOCH, [partition(0)])
    assert second.session_id not in (0, first.session_id)
    assert len(sessions) == 1


def test_the_epoch_wraps_to_one() -> None:
    sessions = cache()
    session = ask(sessions, 0, INITIAL_EPOCH, [partition(0)]).session
    assert session is not None
    session.epoch = 2**31 - 1
    ask(sessions, session.session_id, 2**31 - 1, [])
    assert session.epoch == 1


def test_a_full_cache_refuses_a_newcomer_while_all_sessions_are_young() -> None:
    sessions = cache(slots=1)
    ask(sessions, 0, INITIAL_EPOCH, [partition(0)], now_ms=0)
    assert ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)], now_ms=EVICTION_MS).session_id == 0


def test_a_session_that_nobody_used_makes_room() -> None:
    sessions = cache(slots=1)
    old = ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)], now_ms=0)
    new = ask(sessions, 0, INITIAL_EPOCH, [partition(0)], now_ms=EVICTION_MS + 1)
    assert new.session_id not in (0, old.session_id)
    assert (len(sessions), sessions.evicted_count) == (1, 1)


def test_an_old_but_busy_session_yields_to_a_larger_one_only() -> None:
    sessions = cache(slots=1)
    busy = ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)], now_ms=0)
    ask(sessions, busy.session_id, 1, [], now_ms=EVICTION_MS)
    assert ask(sessions, 0, INITIAL_EPOCH, [partition(0)], now_ms=EVICTION_MS + 1).session_id == 0
    larger = [partition(index) for index in range(3)]
    assert ask(sessions, 0, INITIAL_EPOCH, larger, now_ms=EVICTION_MS + 1).session_id != 0


def test_a_consumer_never_evicts_a_busy_follower_but_a_follower_evicts_a_consumer() -> None:
    sessions = cache(slots=1)
    follower = ask(sessions, 0, INITIAL_EPOCH, [partition(0)], is_privileged=True, now_ms=0)
    ask(sessions, follower.session_id, 1, [], now_ms=EVICTION_MS)
    many = [partition(index) for index in range(9)]
    assert ask(sessions, 0, INITIAL_EPOCH, many, now_ms=EVICTION_MS + 1).session_id == 0

    sessions = cache(slots=1)
    consumer = ask(sessions, 0, INITIAL_EPOCH, many, now_ms=0)
    ask(sessions, consumer.session_id, 1, [], now_ms=EVICTION_MS)
    assert ask(sessions, 0, INITIAL_EPOCH, [partition(0)], is_privileged=True, now_ms=EVICTION_MS + 1).session_id != 0


def test_a_partition_that_got_its_share_moves_behind_the_others() -> None:
    sessions = cache()
    session = ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)]).session
    assert session is not None
    session.told(session.partitions["t", 0], has_records=True)
    assert [p.index for p in ask(sessions, session.session_id, 1, []).partitions] == [1, 0]


class NotedMoves:
    """A watch that is told what moved."""

    def __init__(self) -> None:
        self.moved: set[PartitionKey] = set()
        self.removed: list[PartitionKey] = []
        self.is_closed = False
        self.hurried_count = 0

    def hurry(self) -> None:
        self.hurried_count += 1

    def take(self) -> set[PartitionKey]:
        moved, self.moved = self.moved, set()
        return moved

    def remove(self, place: PartitionKey) -> None:
        self.removed.append(place)

    def close(self) -> None:
        self.is_closed = True


def watched_session(sessions: FetchSessionCache, size: int) -> tuple[FetchSession, NotedMoves]:
    """A session whose client knows everything there is."""
    session = ask(sessions, 0, INITIAL_EPOCH, [partition(index) for index in range(size)]).session
    assert session is not None
    session.watch = watch = NotedMoves()
    for row in session.partitions.values():
        row.is_settled = True
        session.told(row, has_records=False)
    return session, watch


def test_a_request_looks_at_what_moved_and_what_the_client_names_and_at_nothing_else() -> None:
    sessions = cache()
    session, watch = watched_session(sessions, 100)
    assert ask(sessions, session.session_id, 1, []).partitions == []
    watch.moved = {("t", 7), ("t", 3), ("gone", 1)}
    looked_at = ask(sessions, session.session_id, 2, [partition(5, offset=9)]).partitions
    assert [row.index for row in looked_at] == [3, 5, 7]


def test_what_could_not_be_told_is_looked_at_again() -> None:
    sessions = cache()
    session, watch = watched_session(sessions, 10)
    watch.moved = {("t", 7), ("t", 3)}
    for row in ask(sessions, session.session_id, 1, []).partitions:
        row.is_settled = row.index == 3
        session.told(row, has_records=False)
    assert [row.index for row in ask(sessions, session.session_id, 2, []).partitions] == [7]


def test_a_move_is_not_forgotten_by_a_request_that_ends_without_an_answer() -> None:
    sessions = cache()
    session, watch = watched_session(sessions, 10)
    watch.moved = {("t", 7)}
    ask(sessions, session.session_id, 1, [])
    assert [row.index for row in ask(sessions, session.session_id, 2, []).partitions] == [7]


def test_what_does_not_move_is_not_looked_at_however_long_it_rests() -> None:
    sessions = cache()
    session, _ = watched_session(sessions, 10)
    assert ask(sessions, session.session_id, 1, [], now_ms=10**9).partitions == []


def test_a_session_that_ends_watches_nothing_any_more() -> None:
    sessions = cache()
    session, watch = watched_session(sessions, 2)
    ask(sessions, session.session_id, 1, [], [0])
    assert watch.removed == [("t", 0)]
    ask(sessions, session.session_id, FINAL_EPOCH, [])
    assert watch.is_closed


def test_sessions_are_bounded_by_their_partitions_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_session, "CACHED_PARTITIONS_MAX", 5)
    sessions = cache(slots=10)
    first = ask(sessions, 0, INITIAL_EPOCH, [partition(index) for index in range(4)])
    assert ask(sessions, 0, INITIAL_EPOCH, [partition(0), partition(1)]).session_id == 0
    with pytest.raises(ApiError) as refused:
        ask(sessions, first.session_id, 1, [partition(8), partition(9)])
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_letting_go_of_every_partition_ends_the_session() -> None:
    sessions = cache()
    opened = ask(sessions, 0, INITIAL_EPOCH, [partition(0)])
    assert ask(sessions, opened.session_id, 1, [], [0]).session_id == 0
    assert len(sessions) == 0


class Settling:
    """A follower's session whose partitions are settled as a test says."""

    def __init__(self) -> None:
        self.sessions = cache()
        self.epoch = 0
        self.fetch(0, [partition(0), partition(1)])

    def fetch(self, now_ms: int, named: list[FetchPartition] | None = None) -> None:
        session_id = 0 if self.epoch == 0 else 1
        scope = ask(self.sessions, session_id, self.epoch, named or [], is_privileged=True, now_ms=now_ms)
        assert scope.session is not None
        self.session = scope.session
        self.epoch += 1

    def tell(self, index: int, *, is_settled: bool) -> None:
        one = self.session.partitions["t", index]
        one.is_settled = is_settled
        self.session.told(one, has_records=not is_settled)

    def as_of(self, index: int) -> int | None:
        return self.sessions.caught_up_as_of(1, ("t", index))


def test_a_settled_partition_is_caught_up_as_of_the_last_fetch_of_its_session() -> None:
    follower = Settling()
    assert follower.as_of(0) is None, "nothing was told yet"
    follower.tell(0, is_settled=True)
    follower.tell(1, is_settled=False)
    assert (follower.as_of(0), follower.as_of(1)) == (0, None)
    follower.fetch(700)
    assert (follower.as_of(0), follower.as_of(1)) == (700, None)
    # A record comes: the follower had all the others when it fetched last.
    assert follower.as_of(0) == 700
    follower.session.note_moved([("t", 0)])
    assert follower.as_of(0) == 700, "an idle partition that moves does not put its follower hours behind"
    follower.fetch(900)
    assert follower.as_of(0) == 700, "from now on its own fetches tell how far it is"


def test_nothing_is_known_of_other_brokers_other_partitions_and_sessions_that_ended() -> None:
    follower = Settling()
    follower.tell(0, is_settled=True)
    assert follower.sessions.caught_up_as_of(2, ("t", 0)) is None
    assert follower.as_of(7) is None
    ask(follower.sessions, 1, FINAL_EPOCH, [])
    assert follower.as_of(0) is None


def test_a_partition_that_moved_between_two_fetches_was_settled_at_the_first() -> None:
    follower = Settling()
    follower.tell(0, is_settled=True)
    follower.fetch(700)
    follower.fetch(900, [partition(0)])
    assert follower.as_of(0) == 700


def test_the_waits_of_one_follower_are_ended_and_those_of_others_go_on() -> None:
    sessions = cache()
    followers = ask(sessions, 0, INITIAL_EPOCH, [partition(0)], is_privileged=True).session
    consumers = ask(sessions, 0, INITIAL_EPOCH, [partition(0)]).session
    assert followers is not None and consumers is not None
    followers.watch, consumers.watch = watches = NotedMoves(), NotedMoves()
    sessions.hurry(1)
    sessions.hurry(7)
    assert [watch.hurried_count for watch in watches] == [1, 0]
