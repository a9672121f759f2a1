"""What a client remembers of a registry, within bounds.

What was found is kept until others were used more recently. What was missing is kept for seconds only, because it may
come: so that a topic full of foreign records does not ask for the schema of each of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal
from ottla.schemas.registry_client.registered import RegisteredSchema

KEPT_MAX: Final = 10_000
MISSING_KEPT_S: Final = 10.0


class Memory:
    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        # The one that was used last comes last.
        self._found: OrderedDict[Hashable, RegisteredSchema] = OrderedDict()
        # With the time at which each is forgotten; the oldest comes first.
        self._missing: OrderedDict[Hashable, tuple[RegistryRefusal, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found) + len(self._missing)

    def remember(self, key: Hashable, ask: Callable[[], RegisteredSchema]) -> RegisteredSchema:
        """What is known by this key, or else what `ask` tells; it may raise RegistryRefusal."""
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
            return found
        refusal, until_s = self._missing.get(key, (None, 0.0))
        if refusal is not None and self._now_s() < until_s:
            # A traceback that grew with each of them would keep all that they have seen.
            raise refusal.with_traceback(None)
        try:
            found = ask()
        except RegistryRefusal as refused:
            if refused.code in NOT_FOUND_CODES:
                self._missing[key] = refused, self._now_s() + MISSING_KEPT_S
                self._missing.move_to_end(key)
                _shorten(self._missing)
            raise
        self._found[key] = found
        _shorten(self._found)
        return found

    def forget_missing(self) -> None:
        """Something was added."""
        self._missing.clear()

    def forget(self) -> None:
        """Something was deleted."""
        self._found.clear()
        self._missing.clear()


def _shorten(kept: OrderedDict[Hashable, Any]) -> None:
    if len(kept) > KEPT_MAX:
        kept.popitem(last=False)
