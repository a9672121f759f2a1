"""Records with a second between them, for questions about times."""

from harness.clients.contract import Record

FIRST_MS = 1_700_000_000_000


def timed_records(count: int) -> list[Record]:
    """The values 0, 1, 2, ..., each at its second since `FIRST_MS`."""
    return [Record(b"%d" % number, timestamp_ms=FIRST_MS + 1000 * number) for number in range(count)]
