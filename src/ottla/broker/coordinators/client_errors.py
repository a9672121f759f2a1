"""The errors of coordinators, as their clients know them."""

from ottla.protocol.errors import ApiError, ErrorCode

_COORDINATOR_ERRORS = {
    # A broker that could not be asked: older clients do not expect that code, but know how to wait for a coordinator.
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def coordinator_error(log_error: ApiError) -> ApiError:
    """The error for a client when the log refuses: look for the coordinator again, wait, or give up."""
    return ApiError(_COORDINATOR_ERRORS.get(log_error.code, log_error.code), log_error.message)


def fencing_error(code: ErrorCode, api_version: int, *, known_from: int) -> ErrorCode:
    """The code that tells a producer that it is fenced: versions before `known_from` get INVALID_PRODUCER_EPOCH instead
    of PRODUCER_FENCED. Other codes stay as they are."""
    if code is ErrorCode.PRODUCER_FENCED and api_version < known_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
