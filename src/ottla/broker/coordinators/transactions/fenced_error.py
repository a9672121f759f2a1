"""How a fenced producer hears of it: PRODUCER_FENCED where its version knows that, INVALID_PRODUCER_EPOCH before."""

from ottla.protocol.errors import ErrorCode


def as_known(code: ErrorCode, api_version: int, *, known_from: int) -> ErrorCode:
    """The code for a client of a version; `known_from` is the first that knows PRODUCER_FENCED."""
    if code is ErrorCode.PRODUCER_FENCED and api_version < known_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
