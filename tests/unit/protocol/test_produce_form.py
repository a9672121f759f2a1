import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.codec import MalformedMessage, decode, decode_at, encode
from ottla.protocol.frame import SHARED_FRAME_BYTES_MAX
from ottla.protocol.header import read_request_header
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from ottla.protocol.produce_form import BATCH_BYTES_MAX, FORMS_MAX, ProduceForms

TOPIC_ID = bytes(range(16))
FLEXIBLE_FROM = {0: ProduceRequest.FLEXIBLE_FROM}


def batch_of(size: int) -> bytes:
    builder = BatchBuilder()
    builder.append(None, bytes(size), timestamp_ms=1)
    return bytes(builder.build())


def request_of(
    version: int, records: bytes | None, *, topic: str = "orders", index: int = 3, acks: int = 1
) -> ProduceRequest:
    named = {"topic_id": TOPIC_ID} if version >= 13 else {"name": topic}
    data = [PartitionProduceData(index=index, records=records)]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(partition_data=data, **named)])


def frame_of(
    request: ProduceRequest, version: int, correlation_id: int = 7, client_id: bytes = b"rdkafka"
) -> bytearray:
    tags = b"\0" if version >= ProduceRequest.FLEXIBLE_FROM else b""
    header = struct.pack(">hhih", 0, version, correlation_id, len(client_id)) + client_id + tags
    return bytearray(header + encode(request, version))


def learn(forms: ProduceForms, frame: bytearray) -> None:
    header = read_request_header(frame, FLEXIBLE_FROM)
    request, _ = decode_at(ProduceRequest, frame, header.api_version, header.body_position)
    forms.learn(frame, header.api_version, header.body_position, request)


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("size", [0, 40, 60, 100, 5000])
def test_a_request_like_an_earlier_one_is_read_as_the_codec_reads_it(version: int, size: int) -> None:
    forms = ProduceForms()
    learn(forms, frame_of(request_of(version, batch_of(30)), version))
    frame = frame_of(request_of(version, batch_of(size)), version, correlation_id=8)
    form = forms.find(frame)
    assert form is not None
    records = form.batch_of(frame)
    assert records is not None
    assert records == batch_of(size)
    named = "" if version >= 13 else "orders"
    assert (form.version, form.acks, form.topic, form.index) == (version, 1, named, 3)
    assert form.topic_id == (TOPIC_ID if version >= 13 else bytes(16))


@pytest.mark.parametrize("version", range(9, 14))
def test_an_answer_is_what_the_codec_would_write(version: int) -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(version, batch_of(30)), version, correlation_id=-5)
    learn(forms, frame)
    form = forms.find(frame)
    assert form is not None
    row = PartitionProduceResponse(index=3, base_offset=2**40, log_append_time_ms=-1, log_start_offset=17)
    named = {"topic_id": TOPIC_ID} if version >= 13 else {"name": "orders"}
    wanted = ProduceResponse(responses=[TopicProduceResponse(partition_responses=[row], **named)])
    answer = form.answer(frame, 2**40, 17)
    size, correlation_id, tags = struct.unpack_from(">iib", answer)
    assert (size, correlation_id, tags) == (len(answer) - 4, -5, 0)
    assert answer[9:] == encode(wanted, version)
    assert decode(ProduceResponse, answer[9:], version) == wanted


def test_a_request_that_differs_before_its_batch_has_another_form() -> None:
    forms = ProduceForms()
    learn(forms, frame_of(request_of(9, batch_of(30)), 9))
    others = [
        frame_of(request_of(9, batch_of(30), topic="order5"), 9),
        frame_of(request_of(9, batch_of(30), topic="a-longer-name"), 9),
        frame_of(request_of(9, batch_of(30), index=4), 9),
        frame_of(request_of(9, batch_of(30), acks=-1), 9),
        frame_of(request_of(9, batch_of(30)), 9, client_id=b"another"),
        frame_of(request_of(10, batch_of(30)), 10),
        frame_of(request_of(8, batch_of(30)), 8),
    ]
    assert [forms.find(frame) for frame in others] == [None] * len(others)
    for frame in others[:-1]:
        learn(forms, frame)
        assert forms.find(frame) is not None


@pytest.mark.parametrize("key", [1, 3, 18, 256])
def test_another_request_has_no_form(key: int) -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(9, batch_of(30)), 9)
    learn(forms, frame)
    frame[:2] = key.to_bytes(2)
    assert forms.find(frame) is None


@pytest.mark.parametrize("version", [3, 8, 14, 255, 256 + 9])
def test_another_version_has_no_form(version: int) -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(9, batch_of(30)), 9)
    learn(forms, frame)
    frame[2:4] = version.to_bytes(2)
    assert forms.find(frame) is None


def test_a_request_that_is_cut_off_anywhere_is_left_to_the_codec() -> None:
    forms = ProduceForms()
    whole = frame_of(request_of(9, batch_of(100)), 9)
    learn(forms, whole)
    for size in range(len(whole)):
        frame = whole[:size]
        form = forms.find(frame)
        assert form is None or form.batch_of(frame) is None


def test_what_has_tagged_fields_or_bytes_behind_it_is_left_to_the_codec() -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(9, batch_of(100)), 9)
    learn(forms, frame)
    form = forms.find(frame)
    assert form is not None
    assert form.batch_of(frame) is not None
    assert form.batch_of(frame + b"\0") is None
    for position in (-1, -2, -3):
        tagged = bytearray(frame)
        tagged[position] = 1
        assert form.batch_of(tagged) is None


def test_requests_without_a_form_are_not_learned() -> None:
    forms = ProduceForms()
    transactional = request_of(9, batch_of(30))
    transactional.transactional_id = "payments"
    two_partitions = request_of(9, batch_of(30))
    two_partitions.topic_data[0].partition_data *= 2
    two_topics = request_of(9, batch_of(30))
    two_topics.topic_data *= 2
    for request in (transactional, two_partitions, two_topics, request_of(9, None), ProduceRequest()):
        frame = frame_of(request, 9)
        learn(forms, frame)
        assert forms.find(frame) is None
    old = frame_of(request_of(8, batch_of(30)), 8)
    learn(forms, old)
    assert forms.find(old) is None


@pytest.mark.parametrize("version", range(9, 14))
def test_a_client_without_a_name_is_left_to_the_codec(version: int) -> None:
    forms = ProduceForms()
    body = encode(request_of(version, batch_of(1)), version)
    frame = bytearray(struct.pack(">hhih", 0, version, 7, -1) + b"\0" + body)
    learn(forms, frame)
    assert forms.find(frame) is None


def test_a_request_that_the_codec_would_write_otherwise_is_not_learned() -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(9, batch_of(30)), 9)
    # One topic, as a number of two bytes; the length of the client id makes the size stand where it is looked for.
    count = frame.index(b"\x02\x07orders")
    frame[count : count + 1] = b"\x82\x00"
    learn(forms, frame)
    assert forms.find(frame) is None


@pytest.mark.parametrize("size", [BATCH_BYTES_MAX, 20_000, 300_000])
def test_a_large_batch_is_left_to_the_codec(size: int) -> None:
    forms = ProduceForms()
    learn(forms, frame_of(request_of(9, batch_of(30)), 9))
    frame = frame_of(request_of(9, batch_of(size)), 9)
    form = forms.find(frame)
    assert form is not None
    assert form.batch_of(frame) is None
    unknown = frame_of(request_of(9, batch_of(size), index=4), 9)
    learn(forms, unknown)
    assert forms.find(unknown) is None


def test_whatever_has_a_form_fits_into_the_buffer_that_connections_have() -> None:
    forms = ProduceForms()
    longest = {"topic": "t" * 120, "index": 1}
    learn(forms, frame_of(request_of(9, batch_of(30), **longest), 9, client_id=b"c" * 255))
    frame = frame_of(request_of(9, batch_of(BATCH_BYTES_MAX - 200), **longest), 9, client_id=b"c" * 255)
    form = forms.find(frame)
    assert form is not None
    assert form.batch_of(frame) is not None
    assert len(frame) < BATCH_BYTES_MAX + 500 < SHARED_FRAME_BYTES_MAX


def test_forms_are_forgotten_before_they_fill_the_memory() -> None:
    forms = ProduceForms()
    frames = [frame_of(request_of(9, batch_of(1), index=index), 9) for index in range(FORMS_MAX + 1)]
    for frame in frames:
        learn(forms, frame)
    assert forms.find(frames[0]) is None
    assert forms.find(frames[-1]) is not None


@settings(max_examples=400)
@given(
    version=st.integers(9, 13),
    size=st.sampled_from([0, 50, 200]),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 3),
    added=st.binary(max_size=3),
)
def test_whatever_is_recognised_means_what_the_codec_reads(
    version: int, size: int, changes: list[tuple[int, int]], cut: int, added: bytes
) -> None:
    forms = ProduceForms()
    frame = frame_of(request_of(version, batch_of(size)), version)
    learn(forms, frame)
    for position, byte in changes:
        if position < len(frame):
            frame[position] = byte
    # Once more, so that what was changed may be learned as well.
    with suppress(MalformedMessage, ValueError):
        learn(forms, frame)
    frame = frame[: len(frame) - cut] + added
    form = forms.find(frame)
    records = None if form is None else form.batch_of(frame)
    if form is None or records is None:
        return
    header = read_request_header(frame, FLEXIBLE_FROM)
    request, end = decode_at(ProduceRequest, frame, header.api_version, header.body_position)
    ((name, topic_id, rows),) = [(one.name, one.topic_id, one.partition_data) for one in request.topic_data]
    ((index, found),) = [(row.index, row.records) for row in rows]
    assert (header.api_key, header.api_version, end) == (0, form.version, len(frame))
    assert (request.transactional_id, request.acks, name, topic_id, index) == (
        None,
        form.acks,
        form.topic,
        form.topic_id,
        form.index,
    )
    assert found == records
