"""OffsetDelete, DeleteGroups, expiry and deleted topics."""

import pytest

from ottla.coordinator.group import deletion
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from unit.coordinator.group.playbook import SESSION_MS, Playbook, subscription

RETENTION_MS = 60_000


def delete(play: Playbook, *names: tuple[str, int], group: str = "g") -> dict[tuple[str, int], int]:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=partition)])
            for name, partition in names
        ],
    )
    result = play.shard.deletions.delete_offsets(request)
    play.append(result.records)
    return {(t.name, p.partition_index): p.error_code for t in result.response.topics for p in t.partitions}


def delete_groups(play: Playbook, *groups: str) -> dict[str, int]:
    result = play.shard.deletions.delete_groups(groups)
    play.append(result.records)
    return {row.group_id: row.error_code for row in result.response}


def remaining(play: Playbook, group: str = "g") -> set[tuple[str, int]]:
    live = {key for key, _ in play.shard.offsets.latest(group)}
    assert live == {key for key, _ in play.reloaded().offsets.latest(group)}
    return live


def expire(play: Playbook) -> None:
    for records in play.shard.expire_offsets(play.now_ms):
        play.append(records)


class TestOffsetDelete:
    def test_offsets_of_an_empty_group_can_be_deleted(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 1, ("t", 1): 2})
        assert delete(play, ("t", 0), ("never", 9)) == {("t", 0): 0, ("never", 9): 0}
        assert remaining(play) == {("t", 1)}

    def test_topics_that_members_consume_keep_their_offsets(self) -> None:
        play = Playbook()
        (member,) = play.stable_group(1, protocols={"range": subscription("t")})
        play.commit({("t", 0): 1, ("old", 0): 2}, member_id=member, generation=1)
        codes = delete(play, ("t", 0), ("old", 0))
        assert codes == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("old", 0): ErrorCode.NONE}
        assert remaining(play) == {("t", 0)}

    def test_a_consumer_group_that_cannot_be_read_counts_as_subscribed_to_everything(self) -> None:
        play = Playbook()
        (member,) = play.stable_group(1, protocols={"range": b"?"})
        play.commit({("t", 0): 1}, member_id=member, generation=1)
        assert delete(play, ("t", 0)) == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}

    def test_members_that_are_not_consumers_must_leave_first(self) -> None:
        play = Playbook()
        member, _ = play.new_member(protocol_type="connect", protocols={"p": b""})
        with pytest.raises(ApiError) as raised:
            delete(play, ("t", 0))
        assert raised.value.code is ErrorCode.NON_EMPTY_GROUP
        play.leave(member)
        play.finish_join_phase()
        assert delete(play, ("t", 0)) == {("t", 0): ErrorCode.NONE}

    def test_an_unknown_group_is_named(self) -> None:
        with pytest.raises(ApiError) as raised:
            delete(Playbook(), ("t", 0))
        assert raised.value.code is ErrorCode.GROUP_ID_NOT_FOUND

    def test_an_offset_in_flight_is_deleted_too(self) -> None:
        play = Playbook()
        play.holds_commits = True
        play.commit({("t", 0): 1})
        delete(play, ("t", 0))
        play.commit_all()
        assert remaining(play) == set()


class TestDeleteGroups:
    def test_an_empty_group_goes_with_all_its_offsets(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 1, ("u", 4): 2})
        assert delete_groups(play, "g") == {"g": ErrorCode.NONE}
        assert not play.shard.groups
        assert not play.reloaded().groups
        assert remaining(play) == set()

    def test_groups_with_members_and_unknown_groups_are_named(self) -> None:
        play = Playbook()
        play.stable_group(1)
        assert delete_groups(play, "g", "?") == {
            "g": ErrorCode.NON_EMPTY_GROUP,
            "?": ErrorCode.GROUP_ID_NOT_FOUND,
        }

    def test_a_deleted_group_starts_again_from_nothing(self) -> None:
        play = Playbook()
        (member,) = play.stable_group(1)
        play.leave(member)
        delete_groups(play, "g")
        _, token = play.new_member()
        play.finish_join_phase()
        assert play.answers[token].generation_id == 1

    def test_a_pending_members_deadline_outlives_its_group_harmlessly(self) -> None:
        play = Playbook()
        play.join()
        delete_groups(play, "g")
        play.advance(SESSION_MS)
        assert not play.shard.groups


class TestExpiry:
    def play(self) -> Playbook:
        return Playbook(offsets_retention_minutes=1)

    def test_a_simple_groups_offsets_age_from_their_commit(self) -> None:
        play = self.play()
        play.commit({("t", 0): 1})
        play.advance(RETENTION_MS // 2)
        play.commit({("t", 1): 1})
        play.advance(RETENTION_MS // 2 - 1)
        expire(play)
        assert remaining(play) == {("t", 0), ("t", 1)}
        play.advance(1)
        expire(play)
        assert remaining(play) == {("t", 1)}
        assert "g" in play.shard.groups

    def test_a_group_that_is_left_with_nothing_goes_too(self) -> None:
        play = self.play()
        play.commit({("t", 0): 1})
        play.advance(RETENTION_MS)
        expire(play)
        assert not play.shard.groups
        assert not play.reloaded().groups

    def test_an_emptied_groups_offsets_age_from_when_it_became_empty(self) -> None:
        play = self.play()
        (member,) = play.stable_group(1)
        play.commit({("t", 0): 1}, member_id=member, generation=1)
        for _ in range(2 * RETENTION_MS // (SESSION_MS - 1)):
            play.advance(SESSION_MS - 1)
            play.heartbeat(member, 1)
        play.leave(member)
        play.advance(RETENTION_MS - 1)
        expire(play)
        assert remaining(play) == {("t", 0)}
        play.advance(1)
        expire(play)
        assert remaining(play) == set()

    def test_a_stable_groups_offsets_expire_only_for_topics_it_left(self) -> None:
        play = self.play()
        (member,) = play.stable_group(1, protocols={"range": subscription("t")})
        play.commit({("t", 0): 1, ("old", 0): 1}, member_id=member, generation=1)
        for _ in range(2 * RETENTION_MS // (SESSION_MS - 1)):
            play.advance(SESSION_MS - 1)
            play.heartbeat(member, 1)
        expire(play)
        assert remaining(play) == {("t", 0)}

    def test_nothing_expires_while_a_group_rebalances_or_is_not_of_consumers(self) -> None:
        play = self.play()
        member, _ = play.new_member(protocol_type="connect", protocols={"p": b""}, session_ms=10**6)
        play.finish_join_phase()
        play.sync(member, 1, {member: b""}, protocol_type=None, protocol_name=None)
        play.commit({("t", 0): 1}, member_id=member, generation=1)
        play.advance(2 * RETENTION_MS)
        expire(play)
        assert remaining(play) == {("t", 0)}

    def test_an_offset_with_its_own_retention_obeys_that(self) -> None:
        play = self.play()
        play.commit({("t", 0): 1}, retention_ms=10 * RETENTION_MS, version=4)
        play.commit({("t", 1): 1}, retention_ms=10, version=4)
        play.advance(10)
        expire(play)
        assert remaining(play) == {("t", 0)}
        play.advance(10 * RETENTION_MS)
        expire(play)
        assert remaining(play) == set()


def test_offsets_go_with_their_topic() -> None:
    play = Playbook()
    play.commit({("t", 0): 1, ("u", 0): 2})
    play.commit({("t", 1): 1}, group="h")
    for records in play.shard.topics_deleted({"t"}):
        play.append(records)
    assert remaining(play) == {("u", 0)}
    assert remaining(play, "h") == set()


def test_an_offset_that_is_committed_between_two_portions_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "PORTION_RECORDS", 1)
    play = Playbook()
    play.commit({("t", 0): 1, ("t", 1): 2, ("t", 2): 3})
    for number, records in enumerate(play.shard.topics_deleted({"t"})):
        play.append(records)
        if number == 0:
            play.commit({("t", 1): 9})
    assert remaining(play) == {("t", 1)}


class TestPendingOffsets:
    """What a transaction has not ended keeps its group, and goes with what is deleted."""

    def test_a_pending_offset_keeps_the_committed_one_and_the_group(self) -> None:
        play = Playbook(offsets_retention_minutes=1)
        play.commit({("t", 0): 1, ("t", 1): 1})
        play.commit_in_transaction(1, {("t", 0): 2})
        play.advance(RETENTION_MS)
        expire(play)
        assert remaining(play) == {("t", 0)}
        play.end_transaction(1, is_commit=False)
        expire(play)
        assert remaining(play) == set()
        assert "g" not in play.shard.groups

    def test_a_group_that_has_only_pending_offsets_stays(self) -> None:
        play = Playbook(offsets_retention_minutes=1)
        play.commit_in_transaction(1, {("t", 0): 2})
        play.advance(RETENTION_MS)
        expire(play)
        assert "g" in play.shard.groups
        play.end_transaction(1)
        assert remaining(play) == {("t", 0)}

    def test_a_group_left_by_an_aborted_transaction_expires(self) -> None:
        play = Playbook()
        play.commit_in_transaction(1, {("t", 0): 2})
        play.end_transaction(1, is_commit=False)
        assert "g" in play.shard.groups
        expire(play)
        assert "g" not in play.shard.groups

    def test_nothing_comes_back_to_a_deleted_group(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 1})
        play.commit_in_transaction(1, {("t", 0): 2, ("t", 1): 2})
        assert delete_groups(play, "g") == {"g": ErrorCode.NONE}
        play.end_transaction(1)
        assert remaining(play) == set()
        assert "g" not in play.shard.groups
        assert "g" not in play.reloaded().groups

    def test_a_deleted_offset_does_not_come_back_with_the_marker(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 1})
        play.commit_in_transaction(1, {("t", 0): 2, ("t", 1): 2, ("t", 2): 2})
        assert delete(play, ("t", 0), ("t", 1)) == {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.NONE}
        play.end_transaction(1)
        assert remaining(play) == {("t", 2)}

    def test_what_is_on_its_way_to_being_pending_is_deleted_too(self) -> None:
        play = Playbook()
        play.holds_commits = True
        play.commit_in_transaction(1, {("t", 0): 2})
        assert delete_groups(play, "g") == {"g": ErrorCode.NONE}
        play.end_transaction(1)
        play.commit_all()
        assert remaining(play) == set()

    def test_the_end_of_a_topic_ends_its_pending_offsets(self) -> None:
        play = Playbook()
        play.commit_in_transaction(1, {("t", 0): 2, ("u", 0): 2}, group="h")
        play.commit({("t", 1): 1})
        for records in play.shard.topics_deleted({"t"}):
            play.append(records)
        play.end_transaction(1)
        assert remaining(play, "h") == {("u", 0)}
        assert remaining(play) == set()

    def test_the_end_of_a_topic_ends_many_pending_offsets_in_portions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deletion, "PORTION_RECORDS", 2)
        play = Playbook()
        play.commit({("t", 0): 1})
        play.commit_in_transaction(1, {("t", number): 2 for number in range(5)})
        portions = play.shard.topics_deleted({"t"})
        sizes = []
        for records in portions:
            play.append(records)
            sizes.append(len(records))
        assert sizes == [2, 2, 1]
        play.end_transaction(1)
        assert remaining(play) == set()

    @pytest.mark.parametrize("is_commit", [True, False])
    def test_an_offset_that_was_pending_goes_though_its_transaction_ended_between_two_portions(
        self, monkeypatch: pytest.MonkeyPatch, *, is_commit: bool
    ) -> None:
        monkeypatch.setattr(deletion, "PORTION_RECORDS", 1)
        play = Playbook()
        play.commit({("t", 1): 1})
        play.commit_in_transaction(1, {("t", 0): 2, ("t", 1): 2, ("t", 2): 2})
        portions = play.shard.topics_deleted({"t"})
        play.append(next(portions))
        play.end_transaction(1, is_commit=is_commit)
        for records in portions:
            play.append(records)
        assert remaining(play) == set()

    def test_an_offset_that_became_pending_between_two_portions_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It belongs to a new topic of the same name."""
        monkeypatch.setattr(deletion, "PORTION_RECORDS", 1)
        play = Playbook()
        play.commit_in_transaction(1, {("t", 0): 2, ("t", 1): 2})
        portions = play.shard.topics_deleted({"t"})
        play.append(next(portions))
        play.commit_in_transaction(2, {("t", 1): 9})
        for records in portions:
            play.append(records)
        play.end_transaction(1, is_commit=False)
        play.end_transaction(2)
        assert remaining(play) == {("t", 1)}


class TestRefusedPortions:
    """A portion that the log refuses is not appended; the next ones are asked for all the same."""

    def test_a_group_does_not_expire_before_its_offsets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deletion, "PORTION_RECORDS", 1)
        play = Playbook(offsets_retention_minutes=1)
        play.commit({("t", 0): 1, ("t", 1): 1})
        play.advance(RETENTION_MS)
        portions = play.shard.expire_offsets(play.now_ms)
        next(portions)
        for records in portions:
            play.append(records)
        assert remaining(play) == {("t", 0)}
        assert "g" in play.shard.groups
        expire(play)
        assert "g" not in play.shard.groups
