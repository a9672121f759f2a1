from harness.running_node import batch_of
from ottla.broker.metrics.topic_traffic import TopicCounts, TopicTraffic
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

ORDERS_ID = b"i" * 16
TOPICS: dict[str | bytes, str] = {"orders": "orders", ORDERS_ID: "orders", "payments": "payments"}
BATCH = batch_of(b"one", b"two", b"three")


def shown(counts: TopicCounts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in TopicCounts.__slots__ if getattr(counts, name)}


def request(topic: str, *records: bytes | None, topic_id: bytes = bytes(16)) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=one) for index, one in enumerate(records)]
    return ProduceRequest(topic_data=[TopicProduceData(name=topic, topic_id=topic_id, partition_data=data)])


def answer(*codes: ErrorCode) -> ProduceResponse:
    rows = [PartitionProduceResponse(index=index, error_code=code) for index, code in enumerate(codes)]
    return ProduceResponse(responses=[TopicProduceResponse(partition_responses=rows)])


def test_records_and_bytes_are_those_of_the_batches() -> None:
    traffic = TopicTraffic(TOPICS.get)
    traffic.produced(request("orders", BATCH, memoryview(BATCH)), answer(ErrorCode.NONE, ErrorCode.NONE))
    traffic.produced(request("", BATCH, topic_id=ORDERS_ID), None)
    assert shown(traffic.topics["orders"]) == {"bytes_in": 3 * len(BATCH), "messages_in": 9, "produces": 3}


def test_what_is_refused_counts_as_failed_and_not_as_traffic() -> None:
    traffic = TopicTraffic(TOPICS.get)
    codes = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
    assert traffic.produced(request("orders", BATCH, b"rubbish", None), answer(*codes)) == [*codes]
    assert shown(traffic.total()) == {"bytes_rejected": len(BATCH), "failed_produces": 3, "produces": 3}


def test_fetched_bytes_are_those_of_the_answer() -> None:
    traffic = TopicTraffic(TOPICS.get)
    rows = [PartitionData(records=BATCH), PartitionData(records=None), PartitionData(error_code=3)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=ORDERS_ID, partitions=rows)])
    assert traffic.fetched(FetchRequest(), response) == [3]
    assert shown(traffic.topics["orders"]) == {"bytes_out": len(BATCH), "fetches": 3, "failed_fetches": 1}


def test_names_that_are_no_topics_make_no_series() -> None:
    traffic = TopicTraffic(TOPICS.get)
    for number in range(10):
        invented = request(f"invented-{number}", BATCH)
        traffic.produced(invented, answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert traffic.topics == {}
    assert shown(traffic.total()) == {"produces": 10, "failed_produces": 10}


def test_the_sum_keeps_what_a_deleted_topic_counted() -> None:
    traffic = TopicTraffic(TOPICS.get)
    traffic.produced(request("orders", BATCH), None)
    traffic.produced(request("payments", BATCH), None)
    traffic.forget_all_but({"payments"})
    assert list(traffic.topics) == ["payments"]
    assert traffic.total().messages_in == 6
    traffic.produced(request("orders", BATCH), None)
    assert traffic.topics["orders"].messages_in == 3
