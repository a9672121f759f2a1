"""Topics with records in them, that all rows of one size read: as librdkafka's producer writes them."""

from confluent_kafka import Producer

from bench.servers import Bed

PARTITIONS = 6


class FilledTopics:
    def __init__(self) -> None:
        self._names: dict[tuple[str, int, int], str] = {}

    def get(self, bed: Bed, size: int, count: int) -> str:
        key = (bed.bootstrap, size, count)
        if key not in self._names:
            name = f"records-{size}-{count}"
            print(f"filling a topic with {count:,} records of {size:,} B", flush=True)
            bed.create_topic(name, PARTITIONS, {})
            fill(bed.bootstrap, name, size, count)
            self._names[key] = name
        return self._names[key]


def fill(bootstrap: str, topic: str, size: int, count: int) -> None:
    """Keys are numbers, values begin with one."""
    failures: list[object] = []

    def check(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 1_000_000})
    filling = bytes(size - 10)
    for number in range(count):
        value = b"%010d" % number + filling
        while True:
            try:
                producer.produce(topic, key=b"%d" % number, value=value, on_delivery=check)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    assert not failures, f"{len(failures)} records were not written: {failures[0]}"
