"""A producer with idempotence and acks=all that numbers what it writes: a gap, a repetition or a swap shows.

It never learns that brokers die, except through its own retries.
"""

import threading
from collections import defaultdict

from confluent_kafka import KafkaError, Message, Producer

from harness.clients.confluent import ConfluentKafka


class NumberedLoad:
    """Writes the next number to each partition in turn until it is stopped; counts what came back."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 500,
                # The broker is away on purpose.
                "log_level": 0,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent: dict[int, int] = dict.fromkeys(range(partitions), 0)
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        self.failures: list[KafkaError] = []
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for partition in self.sent:
                self._send(partition)
            self._producer.poll(0.001)
        self._producer.flush(120)

    def _send(self, partition: int) -> None:
        number = self.sent[partition]

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            if error is None:
                self.acknowledged[partition].append(number)
            else:
                self.failures.append(error)

        try:
            self._producer.produce(self._topic, b"%d" % number, b"key", partition, on_delivery=on_delivery)
        except BufferError:
            # The queue is full while the server is away.
            self._producer.poll(0.1)
            return
        self.sent[partition] = number + 1

    def total(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def check(self, client: ConfluentKafka) -> None:
        """After `stop`: each partition holds its numbers, once and in order, and all were acknowledged in order."""
        assert self.failures == []
        for partition, count in self.sent.items():
            assert self.acknowledged[partition] == list(range(count)), "acknowledgements came in order, for all"
            stored = client.read(self._topic, partition, 0, count)
            assert [one.offset for one in stored] == list(range(count))
            assert [one.record.value for one in stored] == [b"%d" % number for number in range(count)]
            assert client.end_offset(self._topic, partition) == count
