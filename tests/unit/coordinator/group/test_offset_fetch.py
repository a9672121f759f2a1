from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from ottla.protocol.messages.offset_fetch_response import OffsetFetchResponseTopics
from unit.coordinator.group.playbook import Playbook


def offsets(topics: list[OffsetFetchResponseTopics]) -> dict[tuple[str, int], int]:
    return {(t.name, p.partition_index): p.committed_offset for t in topics for p in t.partitions}


def ask(name: str, *partitions: int, topic_id: bytes = bytes(16)) -> OffsetFetchRequestTopics:
    return OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=partitions)


def test_each_partition_asked_for_gets_a_row_and_minus_one_means_none() -> None:
    play = Playbook()
    play.commit({("t", 0): 5})
    rows = play.shard.fetch_offsets("g", [ask("t", 0, 1), ask("u", 0)])
    assert offsets(rows) == {("t", 0): 5, ("t", 1): -1, ("u", 0): -1}
    assert rows[0].partitions[1].metadata == ""


def test_no_list_asks_for_everything_the_group_has() -> None:
    play = Playbook()
    play.commit({("t", 0): 5, ("u", 3): 6})
    rows = play.shard.all_offsets("g")
    assert {(name, row.partition_index): row.committed_offset for name, row in rows} == {("t", 0): 5, ("u", 3): 6}


def test_an_unknown_group_has_no_offsets_and_no_error() -> None:
    play = Playbook()
    assert list(play.shard.all_offsets("g")) == []
    assert offsets(play.shard.fetch_offsets("g", [ask("t", 0)])) == {("t", 0): -1}


def test_an_offset_of_an_earlier_topic_of_that_name_is_not_for_its_successor() -> None:
    play = Playbook()
    play.commit({("t", 0): 5}, topic_id=b"o" * 16)
    assert offsets(play.shard.fetch_offsets("g", [ask("t", 0, topic_id=b"n" * 16)])) == {("t", 0): -1}
    assert offsets(play.shard.fetch_offsets("g", [ask("t", 0, topic_id=b"o" * 16)])) == {("t", 0): 5}
    assert offsets(play.shard.fetch_offsets("g", [ask("t", 0)])) == {("t", 0): 5}


class TestStability:
    def test_a_pending_partition_is_unstable_for_who_requires_stable_offsets(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 5, ("t", 1): 6})
        play.commit_in_transaction(1, {("t", 0): 9, ("t", 2): 9})
        rows = play.shard.fetch_offsets("g", [ask("t", 0, 1, 2)], require_stable=True)
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert [row.error_code for row in rows[0].partitions] == [unstable, ErrorCode.NONE, unstable]
        assert offsets(rows) == {("t", 0): -1, ("t", 1): 6, ("t", 2): -1}
        assert offsets(play.shard.fetch_offsets("g", [ask("t", 0, 1, 2)])) == {("t", 0): 5, ("t", 1): 6, ("t", 2): -1}

    def test_a_list_of_everything_does_not_name_what_is_only_pending(self) -> None:
        play = Playbook()
        play.commit({("t", 0): 5})
        play.commit_in_transaction(1, {("t", 0): 9, ("t", 2): 9})
        rows = list(play.shard.all_offsets("g", require_stable=True))
        assert [(name, row.partition_index, row.error_code) for name, row in rows] == [
            ("t", 0, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        ]
        assert [row.committed_offset for _, row in play.shard.all_offsets("g")] == [5]

    def test_what_is_in_flight_is_unstable_until_it_is_committed(self) -> None:
        """Otherwise a new owner of the partition would begin where the old one has already been."""
        play = Playbook()
        play.commit({("t", 0): 5})
        play.holds_commits = True

        def code() -> int:
            rows = play.shard.fetch_offsets("g", [ask("t", 0)], require_stable=True)
            return rows[0].partitions[0].error_code

        play.commit_in_transaction(1, {("t", 0): 9})
        assert code() == ErrorCode.UNSTABLE_OFFSET_COMMIT
        play.end_transaction(1)
        assert code() == ErrorCode.UNSTABLE_OFFSET_COMMIT
        play.commit_all()
        assert code() == ErrorCode.NONE
        play.commit({("t", 0): 10})
        assert code() == ErrorCode.UNSTABLE_OFFSET_COMMIT
