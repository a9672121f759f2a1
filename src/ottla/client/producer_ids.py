"""The identity under which brokers recognise a producer's batches: InitProducerId."""

from dataclasses import dataclass

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.errors import raise_for
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """A producer id and its epoch."""

    producer_id: int
    producer_epoch: int


async def init_producer_id(
    cluster: Cluster, transactional_id: str | None = None, *, transaction_timeout_ms: int = 60_000
) -> ProducerIdentity:
    """A new identity; with a transactional id its owner, whose earlier holders are fenced by the new epoch."""

    async def ask() -> ProducerIdentity:
        if transactional_id is None:
            connection = await cluster.any_connection()
        else:
            connection = await cluster.coordinator_connection(transactional_id, CoordinatorKind.TRANSACTION)
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms
        )
        response = await connection.request(request, InitProducerIdResponse)
        raise_for(response.error_code)
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    return await cluster.retry(
        ask,
        what="getting a producer id",
        coordinates=transactional_id,
        kind=CoordinatorKind.TRANSACTION,
    )
