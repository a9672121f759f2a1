"""Records at a fixed rate into one topic, and how long each takes to come out of another one, as committed.

    python -m bench.pipeline.timed_records BOOTSTRAP SOURCE TARGET SIZE PER_S SECONDS

A value begins with its number. What comes in the first seconds is not counted, when the query still settles. Prints the
latencies of the rest in microseconds as JSON; a record that comes twice counts when it comes first.
"""

import json
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.pipeline.filled_topics import PARTITIONS

SETTLE_S = 5.0
PATIENCE_S = 60.0
NUMBER_BYTES = 10


class Sending:
    """A thread that sends at fixed times; `sent_s` says when."""

    def __init__(self, bootstrap: str, topic: str, size: int, per_s: float, count: int) -> None:
        self.sent_s: list[float] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1})
        self._topic = topic
        self._filling = bytes(size - NUMBER_BYTES)
        self._per_s = per_s
        self._count = count

    def run(self) -> None:
        started = time.monotonic()
        for number in range(self._count):
            early = started + number / self._per_s - time.monotonic()
            if early > 0:
                time.sleep(early)
            self.sent_s.append(time.monotonic())
            self._producer.produce(self._topic, key=b"%d" % number, value=b"%010d" % number + self._filling)
            self._producer.poll(0)
        self._producer.flush()


def received(consumer: Consumer, count: int) -> dict[int, float]:
    """When each record came, by its number."""
    found: dict[int, float] = {}
    last = time.monotonic()
    while len(found) < count:
        # One by one: `consume` would wait for a number of them.
        message = consumer.poll(0.1)
        now = time.monotonic()
        if message is None:
            if now - last > PATIENCE_S:
                raise TimeoutError(f"{len(found)} of {count} records came, and then none for {PATIENCE_S:g} s")
            continue
        if (error := message.error()) is not None:
            raise KafkaException(error)
        value = message.value()
        assert isinstance(value, bytes)
        last = now
        found.setdefault(int(value[:NUMBER_BYTES]), now)
    return found


def main() -> None:
    bootstrap, source, target, size, per_s, seconds = sys.argv[1:]
    settling = int(float(per_s) * SETTLE_S)
    count = settling + int(float(per_s) * float(seconds))
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(target, partition, 0) for partition in range(PARTITIONS)])
    sending = Sending(bootstrap, source, int(size), float(per_s), count)
    thread = threading.Thread(target=sending.run, daemon=True)
    thread.start()
    came = received(consumer, count)
    thread.join()
    consumer.close()
    latencies_us = [int((came[number] - sending.sent_s[number]) * 1e6) for number in range(settling, count)]
    json.dump(latencies_us, sys.stdout)


if __name__ == "__main__":
    main()
