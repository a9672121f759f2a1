"""Ending a transaction although answers get lost: a commit or an abort may be asked for as often as one likes."""

import logging
from collections.abc import Callable
from typing import Final

from ottla.client.errors import ClientError

logger = logging.getLogger(__name__)

# Each time for as long as a call may take.
CALLS_MAX: Final = 5


def until_answered(end: Callable[[], None], in_doubt: type[ClientError]) -> None:
    """Call until it is answered; the last `in_doubt` if it never was."""
    for call in range(1, CALLS_MAX + 1):
        try:
            return end()
        except in_doubt as error:
            if call == CALLS_MAX:
                raise
            logger.warning("%s", error)
    return None
