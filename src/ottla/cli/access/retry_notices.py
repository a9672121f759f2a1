"""Telling on stderr what a command is waiting for.

A client retries what may succeed later, for minutes if necessary, and a terminal would show only silence. Trouble that
lasts is reported after a short while, and again now and then; trouble of the same kind with many partitions is one
line. Brief trouble, such as a leader that moves, is not reported.
"""

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client.retries import Retry

FIRST_AFTER_S: Final = 2.0
AGAIN_AFTER_S: Final = 15.0
# Retries are about a second apart at most: what was not retried for longer has ended.
ENDED_AFTER_S: Final = 1.5


@dataclass(slots=True)
class _Kind:
    """One kind of trouble: when it was last reported, and when each thing that it affects was last tried."""

    told_s: float = float("-inf")
    tried_s: dict[str, float] = field(default_factory=dict)


class RetryNotices:
    """Listens to a client's retries."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def __call__(self, retry: "Retry") -> None:
        line = self.notice(retry, time.monotonic())
        if line is not None:
            print(f"ottla: {line}", file=sys.stderr, flush=True)

    def notice(self, retry: "Retry", now_s: float) -> str | None:
        """The line to show, if it is time for one."""
        kind = self._kinds.setdefault(_name(retry), _Kind())
        kind.tried_s[retry.what] = now_s
        if retry.failing_s < FIRST_AFTER_S or now_s - kind.told_s < AGAIN_AFTER_S:
            return None
        kind.told_s = now_s
        kind.tried_s = {what: tried_s for what, tried_s in kind.tried_s.items() if now_s - tried_s <= ENDED_AFTER_S}
        others = len(kind.tried_s) - 1
        more = f" (and {others} more like it)" if others else ""
        end = "until Ctrl-C" if retry.left_s is None else f"for {retry.left_s:.0f} s more"
        return f"{retry.what}{more} has failed for {retry.failing_s:.0f} s, trying again {end}: {retry.error}"


def _name(retry: "Retry") -> str:
    code = getattr(retry.error, "code", None)
    return type(retry.error).__name__ if code is None else code.name
