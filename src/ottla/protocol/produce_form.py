"""Produce requests of one batch, read and answered without the codec.

A producer repeats itself. Two of its requests to one partition differ in the correlation id and in the batch, and the
two answers in the correlation id and three numbers; every other byte is the same. A `ProduceForm` keeps those bytes.
A request is recognised by comparing them, and its answer is made by filling in what differs.

    start             correlation id   head                           size          batch   tail
    key and version   4 bytes          client id to partition index   1 or 2 bytes          no tags, three times

A form is learned from a request that the codec has read, and only if the codec would write that request byte for byte
as it came. A decoder reads from left to right: whatever begins with the same start and head has its batch at the same
place, and means the same. So no request has another meaning here than the codec gives it. What is not recognised is
read by the codec.

There are no forms for versions before 9, whose sizes have another format, for requests of a transaction, and for
batches beyond BATCH_BYTES_MAX, beside which the codec's work is nothing.
"""

from __future__ import annotations

import struct
from typing import Final

from ottla.protocol.codec import encode_parts
from ottla.protocol.header import response_header
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from ottla.protocol.primitives import write_uvarint
from ottla.protocol.record_batch import NO_TIMESTAMP

# Of all clients together: one that calls itself something else in each request must not fill the memory.
FORMS_MAX = 4096
# So small that a request with one fits into the buffer that every connection has.
BATCH_BYTES_MAX = 12 * 1024

# What a request begins with, so that others are told apart at little cost.
PRODUCE_KEY: Final = ProduceRequest.API_KEY.to_bytes(2)
_VERSIONS: Final = range(ProduceRequest.FLEXIBLE_FROM, ProduceRequest.VERSIONS.stop)
_TOPIC_ID_FROM: Final = 13
_CORRELATION_ID: Final = slice(4, 8)
_HEAD_POSITION: Final = 8
_NO_TAGS: Final = b"\0\0\0"
_TAIL_BYTES: Final = len(_NO_TAGS)
_HIGH_SIZE_END: Final = BATCH_BYTES_MAX >> 7
# From the end of the client id to the topic: no tagged fields, no transactional id, acks, timeout, one topic.
_TOPIC_AFTER_CLIENT_ID: Final = 1 + 1 + 2 + 4 + 1
# From the end of the topic to the size of the batch: one partition, its index.
_SIZE_AFTER_TOPIC: Final = 1 + 4
_TOPIC_ID_BYTES: Final = 16
# Base offset, log append time and log start offset, with values that no answer has.
_PLACE: Final = struct.Struct(">qqq")
_NO_PLACE: Final = (-0x0123456789ABCDEF, -0x0FEDCBA987654321, -0x0011223344556677)


class ProduceForm:
    """What requests to one partition have in common, and their answers."""

    __slots__ = (
        "_after_place",
        "_before_place",
        "_pack_answer",
        "_response_bytes",
        "_size_position",
        "acks",
        "index",
        "timeout_ms",
        "topic",
        "topic_id",
        "version",
    )

    def __init__(self, request: ProduceRequest, version: int, size_position: int) -> None:
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        self.version = version
        self.acks = request.acks
        self.timeout_ms = max(request.timeout_ms, 0)
        # The name, or, from version 13 on, the id.
        self.topic = topic.name
        self.topic_id = topic.topic_id
        self.index = data.index
        self._size_position = size_position
        self._before_place, self._after_place = _answer_around_place(topic.name, topic.topic_id, data.index, version)
        self._response_bytes = 4 + len(self._before_place) + _PLACE.size + len(self._after_place)
        self._pack_answer = struct.Struct(f">i4s{len(self._before_place)}sqqq{len(self._after_place)}s").pack

    def batch_of(self, frame: bytearray) -> memoryview | None:
        """The batch of a request whose form this is; None if the codec has to read the request all the same."""
        position = self._size_position
        try:
            size = frame[position]
            position += 1
            if size >= 0x80:
                high = frame[position]
                if high >= _HIGH_SIZE_END:
                    return None
                size += (high - 1) << 7
                position += 1
        except IndexError:
            return None
        # A size is written as one more, since 0 means that there is nothing.
        if position + size - 1 + _TAIL_BYTES != len(frame) or not frame.endswith(_NO_TAGS):
            return None
        return memoryview(frame)[position:-_TAIL_BYTES]

    def answer(self, frame: bytearray, base_offset: int, log_start_offset: int) -> bytes:
        """The answer to a request whose batch was appended, with the timestamps that it came with."""
        return self._pack_answer(
            self._response_bytes,
            frame[_CORRELATION_ID],
            self._before_place,
            base_offset,
            NO_TIMESTAMP,
            log_start_offset,
            self._after_place,
        )


class ProduceForms:
    """The forms of all clients."""

    def __init__(self) -> None:
        self._by_version: dict[int, dict[bytes, ProduceForm]] = {version: {} for version in _VERSIONS}
        self._count = 0

    def find(self, frame: bytearray) -> ProduceForm | None:
        """The form of a request; None if it is not a Produce, or none that has been learned."""
        try:
            if not frame.startswith(PRODUCE_KEY) or frame[2]:
                return None
            return self._by_version[frame[3]].get(bytes(frame[_HEAD_POSITION : _likely_size_position(frame)]))
        except (IndexError, KeyError):
            return None

    def learn(self, frame: bytearray, version: int, body_position: int, request: ProduceRequest) -> None:
        """Keeps the form of a request that the codec has read, if it has one."""
        if version not in _VERSIONS or len(frame) > BATCH_BYTES_MAX:
            return
        if request.transactional_id is not None or len(request.topic_data) != 1:
            return
        rows = request.topic_data[0].partition_data
        if len(rows) != 1 or (records := rows[0].records) is None:
            return
        size_position = len(frame) - _TAIL_BYTES - len(records) - len(write_uvarint(len(records) + 1))
        head = bytes(frame[_HEAD_POSITION:size_position])
        forms = self._by_version[version]
        if head in forms or size_position != _likely_size_position(frame):
            return
        if frame[body_position:] != b"".join(encode_parts(request, version)):
            return
        if self._count == FORMS_MAX:
            for known in self._by_version.values():
                known.clear()
            self._count = 0
        forms[head] = ProduceForm(request, version, size_position)
        self._count += 1


def _likely_size_position(frame: bytearray) -> int:
    """Where the size of the batch stands if the request has a form, and client id and topic are not long; 0 if not."""
    try:
        topic_position = _HEAD_POSITION + 2 + frame[_HEAD_POSITION + 1] + _TOPIC_AFTER_CLIENT_ID
        if frame[3] >= _TOPIC_ID_FROM:
            return topic_position + _TOPIC_ID_BYTES + _SIZE_AFTER_TOPIC
        return topic_position + frame[topic_position] + _SIZE_AFTER_TOPIC
    except IndexError:
        return 0


def _answer_around_place(topic: str, topic_id: bytes, index: int, version: int) -> tuple[bytes, bytes]:
    """What stands before and after the place of a batch in the answer, from behind the correlation id on."""
    base_offset, log_append_time_ms, log_start_offset = _NO_PLACE
    row = PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=topic, topic_id=topic_id, partition_responses=[row])]
    )
    header = response_header(ProduceRequest.API_KEY, 0, is_flexible=True)
    # From the right, since an id may have any bytes.
    before, _, after = b"".join(encode_parts(response, version, header)).rpartition(_PLACE.pack(*_NO_PLACE))
    return before[4:], after
