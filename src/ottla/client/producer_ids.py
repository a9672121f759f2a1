"""The identity under which brokers recognise a producer's batches: InitProducerId."""

import contextlib
from dataclasses import dataclass

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.errors import ClientError, KafkaError, raise_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """A producer id and its epoch."""

    producer_id: int
    producer_epoch: int

    @property
    def exists(self) -> bool:
        return self.producer_id >= 0


NO_IDENTITY = ProducerIdentity(-1, -1)

# Earlier versions cannot say which identity the new epoch is for.
_BUMP_VERSION_MIN = 3

_MAX_TIMEOUT = "transaction.max.timeout.ms"
_INT_MAX = 2_147_483_647
_STRING_BYTES_MAX = 32_767


def check_transactional_id(transactional_id: str) -> None:
    """Refuse an id that no request can carry."""
    if not isinstance(transactional_id, str):
        raise TypeError(f"transactional_id={transactional_id!r}: it is a string")
    if not transactional_id:
        raise ValueError("a transactional id needs at least one character")
    if (size := len(transactional_id.encode())) > _STRING_BYTES_MAX:
        raise ValueError(f"a transactional id of {size} bytes: at most {_STRING_BYTES_MAX} are possible")


def check_transaction_timeout(timeout_ms: int) -> None:
    """Refuse a timeout that no broker would accept."""
    if type(timeout_ms) is not int:
        raise TypeError(f"transaction_timeout_ms={timeout_ms!r}: it is a whole number of milliseconds")
    if not 0 < timeout_ms <= _INT_MAX:
        raise ValueError(f"transaction_timeout_ms={timeout_ms}: it is between 1 and the broker's {_MAX_TIMEOUT}")


async def init_producer_id(
    cluster: Cluster,
    transactional_id: str | None = None,
    *,
    transaction_timeout_ms: int = 60_000,
    current: ProducerIdentity = NO_IDENTITY,
    timeout_ms: float | None = None,
) -> ProducerIdentity:
    """Get a new identity; with a transactional id, that of its owner, whose epoch fences earlier owners.

    With a `current` identity only its epoch is raised, and only if nobody else has raised it (KIP-360).
    """

    async def ask() -> ProducerIdentity:
        if transactional_id is None:
            connection = await cluster.any_connection()
        else:
            connection = await cluster.coordinator_connection(transactional_id, CoordinatorKind.TRANSACTION)
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            producer_id=current.producer_id,
            producer_epoch=current.producer_epoch,
        )
        version = connection.version_of(InitProducerIdRequest, lowest=_BUMP_VERSION_MIN if current.exists else 0)
        response = await connection.request(request, InitProducerIdResponse, version=version)
        raise_for(response.error_code)
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    try:
        return await cluster.retry(
            ask,
            what="getting a producer id",
            timeout_ms=timeout_ms,
            coordinates=transactional_id,
            kind=CoordinatorKind.TRANSACTION,
        )
    except KafkaError as error:
        if transactional_id is None or error.code is not ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            raise
        limit = await _max_timeout(cluster, transactional_id)
        raise KafkaError(error.code, f"transaction_timeout_ms={transaction_timeout_ms} is more than {limit}") from error


async def _max_timeout(cluster: Cluster, transactional_id: str) -> str:
    """The coordinator's limit, with its value if we are allowed to see it."""
    from ottla.client.admin.configs import ConfigCalls, ConfigResource, ResourceType

    with contextlib.suppress(ClientError):
        coordinator = await cluster.coordinator(transactional_id, CoordinatorKind.TRANSACTION)
        resource = ConfigResource(ResourceType.BROKER, str(coordinator.node_id))
        described = (await ConfigCalls(cluster).describe_configs([resource], names=[_MAX_TIMEOUT]))[resource]
        if (entry := described.entries.get(_MAX_TIMEOUT)) is not None and entry.value is not None:
            return f"the broker's {_MAX_TIMEOUT}={entry.value}"
    return f"the broker's {_MAX_TIMEOUT}"
