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
