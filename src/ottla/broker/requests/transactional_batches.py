"""Checks that the transactional batches of a Produce request belong together.

They must be of one producer and epoch, and the request must name the transactional id; otherwise nothing of the request
is written.
"""

from __future__ import annotations

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.record_batch import ATTRIBUTES_POSITION, HEADER_BYTES, TRANSACTIONAL_FLAG, parse_header
from ottla.protocol.records import CorruptRecords

# The byte of the attributes that holds all flags.
_FLAGS_POSITION = ATTRIBUTES_POSITION + 1


def has_transactional_batch(request: ProduceRequest) -> bool:
    """Whether any batch is transactional; reads one byte of each."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records is not None and len(records) >= HEADER_BYTES and records[_FLAGS_POSITION] & TRANSACTIONAL_FLAG:
                return True
    return False


def require_one_transaction(request: ProduceRequest) -> None:
    """ApiError for the whole request if its transactional batches have several producers or no transactional id."""
    if request.transactional_id is None:
        raise ApiError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "A request with transactional records has to name the transactional id of its producer",
        )
    producers = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                header = parse_header(data.records or b"")
            except CorruptRecords:
                # A malformed batch is refused by itself.
                continue
            if header.is_transactional and header.has_producer_id:
                producers.add((header.producer_id, header.producer_epoch))
    if len(producers) > 1:
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"The transactional records of a request must be of one producer and epoch, not of {len(producers)}",
        )
