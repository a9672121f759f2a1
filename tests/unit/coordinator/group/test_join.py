"""JoinGroup, one rule at a time."""

import pytest

from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ErrorCode
from unit.coordinator.group.playbook import REBALANCE_MS, SESSION_MS, Playbook, subscription


def test_a_new_dynamic_member_is_given_an_id_and_asked_to_come_back_with_it() -> None:
    play = Playbook()
    answer = play.answers[play.join(client_id="app")]
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id == "app-uuid1"
    assert answer.generation_id == -1
    assert play.group().pending_members == {"app-uuid1"}
    assert not play.group().members


def test_clients_before_version_4_are_added_at_once() -> None:
    play = Playbook()
    token = play.join(version=3)
    assert token not in play.answers
    play.finish_join_phase()
    assert play.answers[token].error_code == ErrorCode.NONE
    assert play.answers[token].member_id == "client-uuid1"


def test_a_new_static_member_is_added_at_once_under_its_instance_id() -> None:
    play = Playbook()
    token = play.join(instance="worker-7")
    play.finish_join_phase()
    assert play.answers[token].member_id == "worker-7-uuid1"


def test_the_first_join_of_a_group_writes_an_empty_group() -> None:
    play = Playbook()
    play.join()
    loaded = play.reloaded().groups["g"]
    assert loaded.state is GroupState.EMPTY
    assert (loaded.generation_id, loaded.protocol_type) == (0, None)


def test_the_answer_names_generation_protocol_and_leader_and_only_the_leader_learns_the_members() -> None:
    play = Playbook()
    leader, leader_token = play.new_member(protocols={"range": b"L"})
    follower, follower_token = play.new_member(protocols={"range": b"F"})
    play.finish_join_phase()
    first, second = play.answers[leader_token], play.answers[follower_token]
    for answer in (first, second):
        assert (answer.generation_id, answer.protocol_type, answer.protocol_name) == (1, "consumer", "range")
        assert answer.leader == leader
    assert {m.member_id: m.metadata for m in first.members} == {leader: b"L", follower: b"F"}
    assert list(second.members) == []


def test_an_id_without_a_group_is_unknown() -> None:
    play = Playbook()
    answer = play.answers[play.join("nobody")]
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody")
    assert "g" not in play.shard.groups


def test_an_id_that_the_group_does_not_know_is_refused() -> None:
    play = Playbook()
    play.stable_group(1)
    assert play.answers[play.join("nobody")].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_that_was_not_used_in_time_is_forgotten() -> None:
    play = Playbook()
    member_id = play.answers[play.join()].member_id
    play.advance(SESSION_MS)
    assert play.answers[play.join(member_id)].error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("connect", {"range": b""}), ("consumer", {"sticky": b""}), ("consumer", {})],
)
def test_a_member_must_share_the_groups_type_and_a_protocol(protocol_type: str, protocols: dict[str, bytes]) -> None:
    play = Playbook()
    play.stable_group(1)
    answer = play.answers[play.join(protocol_type=protocol_type, protocols=protocols)]
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", {"range": b""}), ("consumer", {})])
def test_the_first_member_must_name_a_type_and_a_protocol(protocol_type: str, protocols: dict[str, bytes]) -> None:
    play = Playbook()
    answer = play.answers[play.join(protocol_type=protocol_type, protocols=protocols)]
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_that_all_support_and_most_prefer_is_chosen() -> None:
    play = Playbook()
    _, token = play.new_member(protocols={"only mine": b"", "range": b"", "sticky": b""})
    play.new_member(protocols={"sticky": b"", "range": b""})
    play.new_member(protocols={"sticky": b"", "range": b""})
    play.finish_join_phase()
    assert play.answers[token].protocol_name == "sticky"


def test_a_full_group_refuses_one_more_member() -> None:
    play = Playbook(group_max_size=2)
    play.stable_group(2)
    assert play.answers[play.join()].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_while_preparing_a_full_group_counts_those_that_have_rejoined() -> None:
    play = Playbook(group_max_size=2)
    members = play.stable_group(2)
    play.leave(members[1])
    newcomer = play.answers[play.join()]
    assert newcomer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    play.join(members[0])
    play.join(newcomer.member_id)
    assert play.answers[play.join()].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_joining_member_makes_a_stable_group_rebalance() -> None:
    play = Playbook()
    (member,) = play.stable_group(1)
    newcomer, token = play.new_member()
    assert play.group().state is GroupState.PREPARING_REBALANCE
    assert play.heartbeat(member, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = play.join(member)
    assert play.answers[rejoined].generation_id == play.answers[token].generation_id == 2
    assert play.answers[token].leader == member
    assert {m.member_id for m in play.answers[rejoined].members} == {member, newcomer}


def test_a_follower_that_rejoins_a_stable_group_unchanged_gets_the_current_generation() -> None:
    play = Playbook()
    _leader, follower = play.stable_group(2)
    answer = play.answers[play.join(follower)]
    assert (answer.error_code, answer.generation_id, list(answer.members)) == (ErrorCode.NONE, 1, [])
    assert play.group().state is GroupState.STABLE


def test_a_leader_that_rejoins_a_stable_group_starts_a_rebalance() -> None:
    play = Playbook()
    leader, _ = play.stable_group(2)
    token = play.join(leader)
    assert token not in play.answers
    assert play.group().state is GroupState.PREPARING_REBALANCE


def test_a_follower_with_new_metadata_starts_a_rebalance() -> None:
    play = Playbook()
    _, follower = play.stable_group(2)
    play.join(follower, protocols={"range": subscription("other")})
    assert play.group().state is GroupState.PREPARING_REBALANCE


def test_a_member_that_lost_its_answer_gets_it_again_while_the_group_completes() -> None:
    play = Playbook()
    leader, token = play.new_member()
    play.finish_join_phase()
    again = play.answers[play.join(leader)]
    assert again == play.answers[token]
    assert play.group().state is GroupState.COMPLETING_REBALANCE


def test_new_metadata_while_the_group_completes_starts_another_rebalance() -> None:
    play = Playbook()
    leader, _ = play.new_member()
    play.finish_join_phase()
    token = play.join(leader, protocols={"range": b"new"})
    assert play.answers[token].generation_id == 2


def test_a_repeated_join_takes_the_place_of_the_parked_one() -> None:
    play = Playbook()
    member, first = play.new_member()
    second = play.join(member)
    assert play.answers[first].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    play.finish_join_phase()
    assert play.answers[second].error_code == ErrorCode.NONE


class TestStaticMembers:
    def stable(self, play: Playbook, *instances: str) -> dict[str, str]:
        tokens = {instance: play.join(instance=instance) for instance in instances}
        play.finish_join_phase()
        ids = {instance: play.answers[token].member_id for instance, token in tokens.items()}
        play.sync_all(list(ids.values()))
        return ids

    def test_a_restarted_follower_keeps_its_assignment_without_a_rebalance(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a", "b")
        answer = play.answers[play.join(instance="b")]
        assert (answer.error_code, answer.generation_id, answer.leader) == (ErrorCode.NONE, 1, ids["a"])
        assert (answer.skip_assignment, list(answer.members)) == (False, [])
        assert answer.member_id != ids["b"]
        assert play.group().state is GroupState.STABLE
        synced = play.answers[play.sync(answer.member_id, 1, instance="b")]
        assert synced.assignment == b"part 1"

    def test_a_restarted_leader_is_told_to_skip_the_assignment(self) -> None:
        play = Playbook()
        self.stable(play, "a", "b")
        answer = play.answers[play.join(instance="a")]
        assert answer.leader == answer.member_id
        assert answer.skip_assignment
        assert len(answer.members) == 2

    def test_a_restarted_leader_that_cannot_skip_is_told_its_old_id_leads(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a", "b")
        answer = play.answers[play.join(instance="a", version=8)]
        assert answer.leader == ids["a"] != answer.member_id
        assert (answer.skip_assignment, list(answer.members)) == (False, [])

    def test_the_replaced_identity_is_written_before_it_is_told(self) -> None:
        play = Playbook()
        self.stable(play, "a")
        play.holds_commits = True
        token = play.join(instance="a")
        assert token not in play.answers
        play.commit_all()
        assert list(play.reloaded().groups["g"].members) == [play.answers[token].member_id]

    def test_the_old_identity_comes_back_when_the_log_refuses(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a")
        play.append_error = ErrorCode.NOT_COORDINATOR
        answer = play.answers[play.join(instance="a", protocols={"range": b"new"})]
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
        assert play.heartbeat(ids["a"], 1, instance="a") == ErrorCode.NONE
        assert play.group().members[ids["a"]].protocols == (("range", subscription("t")),)

    def test_the_replaced_identity_is_fenced_everywhere(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a", "b")
        play.join(instance="b")
        fenced = ErrorCode.FENCED_INSTANCE_ID
        assert play.heartbeat(ids["b"], 1, instance="b") == fenced
        assert play.answers[play.join(ids["b"], instance="b")].error_code == fenced
        assert play.answers[play.sync(ids["b"], 1, instance="b")].error_code == fenced

    def test_a_duplicate_that_waits_to_join_is_fenced_at_once(self) -> None:
        play = Playbook()
        first = play.join(instance="a")
        play.join(instance="a")
        assert play.answers[first].error_code == ErrorCode.FENCED_INSTANCE_ID

    def test_a_rebalance_that_begins_before_the_replacement_is_written_answers_it(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a", "b")
        play.holds_commits = True
        token = play.join(instance="b")
        play.join(ids["a"], instance="a")
        assert play.answers[token].generation_id == 2
        again = play.join(play.answers[token].member_id, instance="b", protocols={"range": b"changed"})
        play.commit_all()
        assert again not in play.answers
        play.join(ids["a"], instance="a")
        assert play.answers[again].generation_id == 3

    def test_a_replaced_member_that_had_not_synced_is_still_expected_to(self) -> None:
        play = Playbook()
        tokens = [play.join(instance=name) for name in "ab"]
        play.finish_join_phase()
        leader, _ = (play.answers[token].member_id for token in tokens)
        play.sync(leader, 1, {leader: b"L"}, instance="a")
        replaced = play.answers[play.join(instance="b")].member_id
        assert play.group().pending_sync_members == {replaced}

    def test_a_static_leader_that_misses_the_join_phase_stays_but_no_longer_leads(self) -> None:
        play = Playbook()
        long_ms = 10 * REBALANCE_MS
        tokens = [play.join(instance=name, session_ms=long_ms) for name in "ab"]
        play.finish_join_phase()
        leader, follower = (play.answers[token].member_id for token in tokens)
        play.sync_all([leader, follower])
        token = play.join(follower, instance="b", protocols={"range": b"changed"}, session_ms=long_ms)
        play.advance(REBALANCE_MS)
        assert play.answers[token].leader == follower
        assert set(play.group().members) == {leader, follower}

    def test_a_restart_that_changes_the_chosen_protocol_rebalances(self) -> None:
        play = Playbook()
        both = {"range": b"", "sticky": b""}
        tokens = [play.join(instance="a", protocols=both)]
        play.finish_join_phase()
        play.sync_all([play.answers[tokens[0]].member_id])
        answer = play.answers[play.join(instance="a", protocols={"sticky": b"", "range": b""})]
        assert (answer.generation_id, answer.protocol_name) == (2, "sticky")

    def test_a_restart_while_the_group_completes_rebalances(self) -> None:
        play = Playbook()
        play.join(instance="a")
        play.finish_join_phase()
        assert play.group().state is GroupState.COMPLETING_REBALANCE
        answer = play.answers[play.join(instance="a")]
        assert answer.generation_id == 2

    def test_a_static_member_survives_a_join_phase_that_it_misses(self) -> None:
        play = Playbook(group_max_session_timeout_ms=10**9)
        ids = self.stable(play, "a", "b")
        play.advance(SESSION_MS - 1)
        for instance, member_id in ids.items():
            play.heartbeat(member_id, 1, instance=instance)
        play.group().members[ids["b"]].session_timeout_ms = 10 * REBALANCE_MS
        play.heartbeat(ids["b"], 1, instance="b")
        token = play.join(ids["a"], instance="a", protocols={"range": b"changed"})
        play.advance(REBALANCE_MS)
        assert play.answers[token].generation_id == 2
        assert ids["b"] in play.group().members

    def test_an_instance_that_was_never_a_member_is_unknown(self) -> None:
        play = Playbook()
        ids = self.stable(play, "a")
        assert play.heartbeat(ids["a"], 1, instance="z") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_the_log_refuses_is_forgotten_again() -> None:
    play = Playbook()
    play.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    token = play.join(instance="a")
    assert play.answers[token].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not play.shard.groups
    assert len(play.shard.timers) == 0
