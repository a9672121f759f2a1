import pytest

from harness.running_node import batch_of
from harness.transactional_requests import transactional_batch
from ottla.broker.requests.transactional_batches import has_transactional_batch, require_one_transaction
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

MALFORMED = [None, b"", b"x" * 22, b"\xff" * 100]


def request_of(*batches: bytes | None, transactional_id: str | None = "tx") -> ProduceRequest:
    rows = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    return ProduceRequest(
        transactional_id=transactional_id, topic_data=[TopicProduceData(name="t", partition_data=rows)]
    )


def refusal(request: ProduceRequest) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        require_one_transaction(request)
    return refused.value.code


def test_a_transactional_batch_is_found_among_others() -> None:
    assert not has_transactional_batch(request_of(batch_of(b"v"), batch_of(b"w")))
    assert has_transactional_batch(request_of(batch_of(b"v"), transactional_batch((7, 0), 0)))
    assert has_transactional_batch(request_of(memoryview(transactional_batch((7, 0), 0))))


def test_what_is_no_batch_is_left_to_those_who_check_batches() -> None:
    assert not has_transactional_batch(request_of(*MALFORMED[:3]))
    require_one_transaction(request_of(*MALFORMED, transactional_batch((7, 0), 0)))


def test_all_transactional_batches_are_of_one_producer_and_epoch() -> None:
    first = transactional_batch((7, 0), 0)
    require_one_transaction(request_of(first, batch_of(b"plain"), transactional_batch((7, 0), 5)))
    for other in ((8, 0), (7, 1)):
        assert refusal(request_of(first, transactional_batch(other, 0))) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_transactional_batches_need_a_transactional_id() -> None:
    request = request_of(transactional_batch((7, 0), 0), transactional_id=None)
    assert refusal(request) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
