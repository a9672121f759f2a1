"""Producer ids, handed to brokers in blocks so that most producers cost no metadata record."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.metadata.controller.brokers import known_broker
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord

BLOCK_SIZE = 1000
_MAX_PRODUCER_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    first: int
    count: int


def allocate_producer_ids(image: ClusterImage, broker_id: int, broker_epoch: int) -> Decision[ProducerIdBlock]:
    known_broker(image, broker_id, broker_epoch)
    first = image.producer_ids.next_producer_id
    if first > _MAX_PRODUCER_ID - BLOCK_SIZE:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids are used up")
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE)
    return Decision([record], ProducerIdBlock(first, BLOCK_SIZE))
