"""So many records from a consumer of our own client."""

from ottla.client import Record, sync_consumer


def take(consumer: sync_consumer.Consumer, count: int) -> list[Record]:
    """Exactly `count` records, in the order in which they came."""
    taken: list[Record] = []
    while len(taken) < count:
        records = consumer.poll(30_000, max_records=count - len(taken))
        assert records, f"{len(taken)} of {count} records came"
        taken += records
    return taken
