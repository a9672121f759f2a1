"""EndTxn: commit or abort.

Versions: 2 answers PRODUCER_FENCED where earlier ones get INVALID_PRODUCER_EPOCH, 3 is flexible, 4 knows
TRANSACTION_ABORTABLE, 5 is for clients of transaction.version 2 and answers the id and epoch of their next
transaction (KIP-890).
"""

from ottla.broker.coordinators.client_errors import fencing_error
from ottla.broker.requests.request_context import RequestContext
from ottla.coordinator.transaction.metadata import ProducerIdentity
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.end_txn_response import EndTxnResponse

API_KEY = ApiKey.END_TXN
REQUEST = EndTxnRequest

_KNOWS_FENCED_FROM = 2
_BUMPS_EPOCH_FROM = 5


async def handle(context: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The transactional id is empty")
    bumps_epoch = context.api_version >= _BUMPS_EPOCH_FROM
    following = await context.broker.coordinators.transactions.end_transaction(
        request.transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        EPOCH_BUMP_VERSION if bumps_epoch else 0,
        is_commit=request.committed,
    )
    return EndTxnResponse(producer_id=following.producer_id, producer_epoch=following.epoch)


def error_response(context: RequestContext, _request: EndTxnRequest, error: ApiError) -> EndTxnResponse:
    code = fencing_error(error.code, context.api_version, known_from=_KNOWS_FENCED_FROM)
    return EndTxnResponse(error_code=code)
