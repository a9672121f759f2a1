"""The partition of a record, bit for bit as Kafka's clients choose it."""

import pytest

from ottla.client.partitioner import StickyPartitioner, murmur2, partition_for_key


# The values of the tests of Kafka's own function, as signed numbers.
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF


def test_the_sign_is_masked_not_negated() -> None:
    assert partition_for_key(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000


def test_an_empty_key_has_a_partition() -> None:
    assert 0 <= partition_for_key(b"", 3) < 3


def test_records_without_a_key_stay_until_a_batch_is_full() -> None:
    partitioner = StickyPartitioner(100, choose=lambda _: 0)
    chosen = [partitioner.partition("t", 40, [0, 1, 2]) for _ in range(7)]
    assert chosen == [0, 0, 0, 1, 1, 1, 0]


def test_topics_do_not_share_their_partition() -> None:
    choices = iter([2, 1])
    partitioner = StickyPartitioner(100, choose=lambda _: next(choices))
    assert [partitioner.partition(topic, 10, [0, 1, 2]) for topic in ("a", "b", "a")] == [2, 1, 2]


def test_a_partition_without_a_leader_is_left() -> None:
    partitioner = StickyPartitioner(100, choose=lambda _: 0)
    assert partitioner.partition("t", 10, [0, 1]) == 0
    assert partitioner.partition("t", 10, [1]) == 1


def test_the_only_partition_is_kept() -> None:
    partitioner = StickyPartitioner(10, choose=lambda _: 0)
    assert [partitioner.partition("t", 50, [4]) for _ in range(3)] == [4, 4, 4]
