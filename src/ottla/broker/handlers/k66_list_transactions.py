"""ListTransactions: the transactional ids that this node coordinates (KIP-664).

Versions: 1 filters by how long a transaction has been open (KIP-994), 2 by a pattern of the id (KIP-1152), which is an
RE2 expression as in Kafka: matching takes linear time, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.broker.requests.request_context import RequestContext
from ottla.coordinator.transaction.description import TransactionFilter, unknown_states
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest
from ottla.protocol.messages.list_transactions_response import ListTransactionsResponse

API_KEY = ApiKey.LIST_TRANSACTIONS
REQUEST = ListTransactionsRequest

# A compiled pattern can be thousands of times as large as its text.
_PATTERN_LENGTH_MAX = 1_000
_PATTERN_BYTES_MAX = 1024 * 1024


async def handle(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    unknown = unknown_states(request.state_filters)
    if request.state_filters and len(unknown) == len(request.state_filters):
        # No transaction can be in an unknown state.
        return ListTransactionsResponse(unknown_state_filters=unknown)
    wanted = TransactionFilter(
        states=frozenset(request.state_filters),
        producer_ids=frozenset(request.producer_id_filters),
        duration_ms=request.duration_filter,
        id_matches=_matcher(request.transactional_id_pattern),
    )
    rows = await context.broker.coordinators.transactions.list(wanted, context.time_slice())
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=rows)


def error_response(
    _context: RequestContext, _request: ListTransactionsRequest, error: ApiError
) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


def _matcher(pattern: str | None) -> Callable[[str], object] | None:
    if not pattern:
        return None
    # Imported here, so that only a request with a pattern pays for it.
    import re2

    if len(pattern) > _PATTERN_LENGTH_MAX:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"a pattern may have {_PATTERN_LENGTH_MAX} characters, this one has {len(pattern)}",
        )
    options = re2.Options()
    options.log_errors = False
    # Only the match itself matters; captured groups would cost memory for each of them.
    options.never_capture = True
    options.max_mem = _PATTERN_BYTES_MAX
    try:
        matcher: Callable[[str], object] = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"{pattern!r} is not an RE2 expression: {error}"
        ) from error
    return matcher
