"""What goes into a pipeline, and whether exactly that came out.

Every record of the input has a value of its own, a key of its partition (or none, now and then), and a number that
rises within its key. The pipeline marks the values and keeps the keys. So each marked value must be in the output
exactly once, each key in one partition, and its numbers must rise there.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Producer

from harness.waiting import POLL_INTERVAL_S

Row = tuple[bytes | None, bytes]
# By partition of the output, in its order.
Output = Mapping[int, Sequence[Row]]

KEYS_PER_PARTITION = 5
# Every so many records there is one without a key.
KEYLESS_EVERY = 10
CHUNK = 50
MARK = b"!"
TIMEOUT_S = 60.0


def row(partition: int, number: int) -> Row:
    key = None if number % KEYLESS_EVERY == 0 else b"key-%d-%d" % (partition, number % KEYS_PER_PARTITION)
    return key, b"%d-%d" % (partition, number)


def differences(expected: Iterable[Row], output: Output) -> list[str]:
    """What is wrong with the output, in words."""
    wanted = Counter((key, value + MARK) for key, value in expected)
    found = Counter(row for rows in output.values() for row in rows)
    return [
        *(f"{count - wanted[row]} too many of {row}" for row, count in found.items() if count > wanted[row]),
        *(f"{row} is missing" for row, count in wanted.items() if count > found[row]),
        *_out_of_place(output),
    ]


def _out_of_place(output: Output) -> list[str]:
    wrong = []
    homes: dict[bytes, set[int]] = defaultdict(set)
    for partition, rows in output.items():
        last: dict[bytes, int] = defaultdict(lambda: -1)
        for key, value in rows:
            if key is None:
                continue
            homes[key].add(partition)
            number = int(value.removesuffix(MARK).rpartition(b"-")[2])
            if number <= last[key]:
                wrong.append(f"{key!r} has {number} after {last[key]} in partition {partition}")
            last[key] = number
    return wrong + [f"{key!r} is in partitions {sorted(found)}" for key, found in homes.items() if len(found) > 1]


def expected_rows(partitions: int, count: int, start: int = 0) -> list[Row]:
    """Of so many records in each partition, but for those before the start."""
    return [row(partition, number) for partition in range(partitions) for number in range(start, count)]


def write_rows(bootstrap: str, topic: str, partitions: int, count: int, start: int = 0) -> None:
    """Writes those records, each into its partition."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, "log_level": 0})
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failures.append(error)

    for number in range(start, count):
        for partition in range(partitions):
            key, value = row(partition, number)
            producer.produce(topic, value, key, partition, on_delivery=on_delivery)
    assert producer.flush(TIMEOUT_S) == 0, "not all was written in time"
    assert not failures, failures


class Feed:
    """Writes the input in the background, as long as it is not too far ahead of whoever reads it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, lead: int, is_read: Callable[[], int]) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._lead = lead
        self._is_read = is_read
        # In each partition.
        self.count = 0
        self._failures: list[Exception] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def expected(self) -> list[Row]:
        return expected_rows(self._partitions, self.count)

    def finish(self) -> None:
        """No more input; all that was written is there."""
        self._stopping.set()
        self._thread.join()
        assert not self._failures, self._failures

    def _write(self) -> None:
        while not self._stopping.is_set() and not self._failures:
            if self.count * self._partitions - self._is_read() >= self._lead:
                self._stopping.wait(POLL_INTERVAL_S)
                continue
            try:
                write_rows(self._bootstrap, self._topic, self._partitions, self.count + CHUNK, self.count)
            except (AssertionError, KafkaException) as failure:
                self._failures.append(failure)
            self.count += CHUNK


def read_by_ottla(bootstrap: str, topic: str, partitions: int) -> dict[int, list[Row]]:
    """The same, by our own client; every partition must be committed to its very end."""
    from ottla.client import ConsumerSettings, IsolationLevel, OffsetReset, OffsetSpec
    from ottla.client import TopicPartition as Place
    from ottla.client.sync import Client

    settings = ConsumerSettings(
        isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.EARLIEST, auto_commit=False
    )
    found: dict[int, list[Row]] = {partition: [] for partition in range(partitions)}
    places = [Place(topic, partition) for partition in range(partitions)]
    with Client(bootstrap) as client, client.consumer(settings) as consumer:
        consumer.assign(places)
        ends = client.admin.list_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
        while any((consumer.position(place) or 0) < ends[place].offset for place in places):
            for record in consumer.poll(1_000):
                found[record.partition].append((record.key, record.value or b""))
    return found


def open_transactions(bootstrap: str) -> list[str]:
    """The transactional ids whose transaction has not ended."""
    from ottla.client.sync import Client

    with Client(bootstrap) as client:
        ended = {"Empty", "CompleteCommit", "CompleteAbort", "Dead"}
        return [one.transactional_id for one in client.admin.list_transactions() if one.state not in ended]
