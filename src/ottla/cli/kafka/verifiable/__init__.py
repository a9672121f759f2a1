"""`kafka-verifiable-producer` and `kafka-verifiable-consumer`, and the lines of JSON that both of them write."""

import json
import time


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def tell_event(name: str, **fields: object) -> None:
    """Write one event as a line, at once: those who watch act upon it."""
    print(json.dumps({"timestamp": now_ms(), "name": name, **fields}, separators=(",", ":")), flush=True)
