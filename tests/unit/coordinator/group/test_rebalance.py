"""The deadlines of a rebalance, and sequences as Kafka's eager and cooperative consumers produce them."""

from ottla.coordinator.group.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from unit.coordinator.group.playbook import REBALANCE_MS, SESSION_MS, Playbook, subscription


def test_the_first_rebalance_waits_for_more_members() -> None:
    play = Playbook()
    _, token = play.new_member()
    play.advance(2_999)
    assert token not in play.answers
    play.advance(1)
    assert play.answers[token].generation_id == 1


def test_members_that_arrive_extend_the_first_wait() -> None:
    play = Playbook()
    _, first = play.new_member()
    play.advance(2_000)
    _, second = play.new_member()
    play.advance(1_000)
    assert first not in play.answers
    play.advance(3_000)
    assert len(play.answers[first].members) == 2
    assert second in play.answers


def test_the_first_wait_never_exceeds_the_rebalance_timeout() -> None:
    play = Playbook()
    _, first = play.new_member(rebalance_ms=7_000)
    for _ in range(3):
        play.advance(2_200)
        play.new_member(rebalance_ms=7_000)
    assert first not in play.answers
    play.advance(7_000 - 3 * 2_200)
    assert len(play.answers[first].members) == 4


def test_no_delay_means_no_wait() -> None:
    play = Playbook(group_initial_rebalance_delay_ms=0)
    _, token = play.new_member()
    play.advance(0)
    assert play.answers[token].generation_id == 1


def test_members_that_do_not_rejoin_in_time_are_dropped() -> None:
    play = Playbook()
    leader, silent = play.stable_group(2, session_ms=10 * REBALANCE_MS)
    token = play.join(leader)
    play.advance(REBALANCE_MS - 1)
    assert token not in play.answers
    play.advance(1)
    assert play.answers[token].generation_id == 2
    assert list(play.group().members) == [leader]
    assert play.heartbeat(silent, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_rejoin_is_succeeded() -> None:
    play = Playbook()
    _leader, follower = play.stable_group(2, session_ms=10 * REBALANCE_MS)
    token = play.join(follower, protocols={"range": b"new"}, session_ms=10 * REBALANCE_MS)
    play.advance(REBALANCE_MS)
    assert play.answers[token].leader == follower


def test_the_longest_rebalance_timeout_counts() -> None:
    play = Playbook()
    first, _ = play.new_member(rebalance_ms=1_000, session_ms=10 * REBALANCE_MS)
    second, _ = play.new_member(rebalance_ms=30_000, session_ms=10 * REBALANCE_MS)
    play.finish_join_phase()
    play.sync_all([first, second])
    token = play.join(first, rebalance_ms=1_000)
    play.advance(29_999)
    assert token not in play.answers
    play.advance(1)
    assert token in play.answers


def test_a_member_whose_session_ends_makes_the_others_rebalance() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    play.advance(SESSION_MS - 1)
    play.heartbeat(leader, 1)
    play.advance(1)
    assert follower not in play.group().members
    assert play.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_session_does_not_end_while_the_member_waits_for_the_group() -> None:
    play = Playbook()
    leader, follower = play.stable_group(2)
    play.join(leader)
    for _ in range(4):
        play.advance(SESSION_MS - 1)
        play.heartbeat(follower, 1)
    assert leader in play.group().members


def test_a_new_member_that_waits_too_long_is_dropped() -> None:
    play = Playbook()
    (member,) = play.stable_group(1, rebalance_ms=2 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    _, token = play.new_member()
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000):
        assert token not in play.answers
        play.heartbeat(member, 1)
        play.advance(5_000)
    assert play.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert list(play.group().members) == [member]


def test_a_pending_member_holds_up_the_join_phase_until_its_id_expires() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    play.join()
    token = play.join(member)
    assert token not in play.answers
    play.advance(SESSION_MS)
    assert play.answers[token].generation_id == 2


def test_members_that_never_sync_are_dropped_after_the_rebalance_timeout() -> None:
    play = Playbook()
    joined = [play.new_member(session_ms=10 * REBALANCE_MS)[0] for _ in range(2)]
    play.finish_join_phase()
    leader, silent = joined
    play.sync(leader, 1, {leader: b"L"})
    play.advance(REBALANCE_MS)
    assert silent not in play.group().members
    assert play.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_never_syncs_is_dropped_and_the_others_are_told() -> None:
    play = Playbook()
    joined = [play.new_member(session_ms=10 * REBALANCE_MS)[0] for _ in range(2)]
    play.finish_join_phase()
    _leader, follower = joined
    waiting = play.sync(follower, 1)
    play.advance(REBALANCE_MS)
    assert play.answers[waiting].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    answer = play.answers[play.join(follower)]
    assert (answer.generation_id, answer.leader) == (2, follower)


def test_static_members_alone_wait_until_one_rejoins() -> None:
    play = Playbook()
    long = 100 * REBALANCE_MS
    tokens = [play.join(instance=name, session_ms=long) for name in "ab"]
    play.finish_join_phase()
    first, second = (play.answers[token].member_id for token in tokens)
    play.sync_all([first, second])
    play.leave(first)
    play.advance(3 * REBALANCE_MS)
    assert play.group().state is GroupState.PREPARING_REBALANCE
    answer = play.answers[play.join(second, instance="b", session_ms=long)]
    assert (answer.generation_id, answer.leader) == (2, second)


def test_an_eager_group_scales_out_and_in() -> None:
    play = Playbook()
    (first,) = play.stable_group(1)
    second, second_token = play.new_member()
    first_token = play.join(first)
    generation = play.answers[first_token].generation_id
    waiting = play.sync(second, generation)
    play.sync(first, generation, {first: b"0,1", second: b"2,3"})
    assert play.answers[waiting].assignment == b"2,3"
    assert play.answers[second_token].generation_id == generation == 2
    play.leave(second)
    assert play.heartbeat(first, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    assert play.answers[play.join(first)].generation_id == 3
    assert play.answers[play.sync(first, 3, {first: b"0,1,2,3"})].assignment == b"0,1,2,3"


def test_a_cooperative_group_needs_two_generations_to_move_a_partition() -> None:
    def owning(partitions: bytes) -> dict[str, bytes]:
        return {"cooperative-sticky": subscription("t") + partitions}

    play = Playbook()
    first, _ = play.new_member(protocols=owning(b""))
    play.finish_join_phase()
    play.sync(first, 1, {first: b"0,1"}, protocol_name="cooperative-sticky")
    second, second_token = play.new_member(protocols=owning(b""))
    answer = play.answers[play.join(first, protocols=owning(b"0,1"))]
    assert {m.member_id: m.metadata for m in answer.members}[first].endswith(b"0,1")
    # The leader takes partition 1 away from itself, but nobody gets it before it is revoked.
    waiting = play.sync(second, 2, protocol_name="cooperative-sticky")
    play.sync(first, 2, {first: b"0", second: b""}, protocol_name="cooperative-sticky")
    assert play.answers[waiting].assignment == b""
    # Having revoked it, the first member asks for the rebalance that hands it over.
    rejoined = play.join(first, protocols=owning(b"0"))
    assert play.heartbeat(second, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    play.join(second, protocols=owning(b""))
    assert play.answers[rejoined].generation_id == 3
    assert play.answers[second_token].generation_id == 2
    waiting = play.sync(second, 3, protocol_name="cooperative-sticky")
    play.sync(first, 3, {first: b"0", second: b"1"}, protocol_name="cooperative-sticky")
    assert play.answers[waiting].assignment == b"1"
