"""What a client takes from its machine besides the event loop: random numbers, secrets, and the time of day.

Everything else (sockets, timers, name lookup) goes through the running loop. So a loop that simulates the network, with
a `Machine` that draws from one seed, makes a client's run repeatable down to the bytes that it sends. For that, nothing
in this package may order its requests by memory address or by the hash of a text.
"""

import os
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


def _random() -> float:
    # Looked up by name, not bound: in a forked process the module starts from a new seed.
    return random.random()


def _time_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that this process runs on; a simulator passes functions of its own."""

    random: Callable[[], float] = _random  # at least 0, below 1
    time_ms: Callable[[], int] = _time_ms  # since 1970
    secret_bytes: Callable[[int], bytes] = os.urandom  # that nobody can guess

    def number_below(self, limit: int) -> int:
        """Draw a whole number from 0 to limit - 1."""
        return int(self.random() * limit)

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """Return the items in a random order."""
        return sorted(items, key=lambda _: self.random())
