"""DescribeTransactions: everything that the coordinator knows about some transactional ids (KIP-664). Version 0."""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from ottla.protocol.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState

API_KEY = ApiKey.DESCRIBE_TRANSACTIONS
REQUEST = DescribeTransactionsRequest


def handle(context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=context.broker.coordinators.transactions.describe(request.transactional_ids)
    )


def error_response(
    _context: RequestContext, request: DescribeTransactionsRequest, error: ApiError
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=transactional_id, error_code=error.code)
            for transactional_id in request.transactional_ids
        ]
    )
