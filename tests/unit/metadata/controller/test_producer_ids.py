import pytest

from ottla.metadata.controller.producer_ids import BLOCK_SIZE, ProducerIdBlock, allocate_producer_ids
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from unit.metadata.clusters import applied, cluster


def test_blocks_follow_each_other_without_gap_or_overlap() -> None:
    image = cluster(1, 2)
    first = allocate_producer_ids(image, 1, 1001)
    second = allocate_producer_ids(applied(image, first), 2, 1002)
    assert first.response == ProducerIdBlock(0, BLOCK_SIZE)
    assert second.response == ProducerIdBlock(1000, BLOCK_SIZE)


def test_only_a_live_registration_gets_ids() -> None:
    with pytest.raises(ApiError) as raised:
        allocate_producer_ids(cluster(1), 1, 5)
    assert raised.value.code is ErrorCode.STALE_BROKER_EPOCH


def test_ids_are_never_used_twice_even_at_the_end() -> None:
    image = applied(cluster(1), [ProducerIdsRecord(broker_id=1, broker_epoch=1001, next_producer_id=2**63 - 500)])
    with pytest.raises(ApiError, match="used up"):
        allocate_producer_ids(image, 1, 1001)
