"""A producer that never stops, and the pauses that it sees: librdkafka, idempotent, acks=all.

It learns of a fault as any client would. Its settings are librdkafka's own, but for two: a request that nobody answers
is given up after a second instead of 30, because a frozen node would otherwise be waited for longer than the cluster
takes to replace it; and a record may take two minutes.
"""

import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

SETTINGS: dict[str, str | int | bool] = {
    "enable.idempotence": True,
    "linger.ms": 0,
    "socket.timeout.ms": 1000,
    "message.timeout.ms": 120_000,
    # Nodes are away on purpose.
    "log_level": 0,
}
BETWEEN_RECORDS_S = 0.005
FLUSH_TIMEOUT_S = 120.0


class Acknowledgements:
    """While the block runs, a record goes to one partition every 5 ms."""

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, **SETTINGS})
        self._topic = topic
        self._partition = partition
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._moments_s: list[float] = []
        self._failures: list[KafkaError] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()
        if error is None and self._failures:
            raise KafkaException(self._failures[0])

    @property
    def moments_s(self) -> Sequence[float]:
        """When records were acknowledged, on the monotonic clock."""
        return self._moments_s

    def has_come_since(self, moment_s: float) -> bool:
        return bool(self._moments_s) and self._moments_s[-1] > moment_s

    def longest_pause_s(self, since_s: float) -> float:
        """The longest time without an acknowledgement that ended after this moment."""
        return max(after - before for before, after in pairwise(self._moments_s) if after > since_s)

    def _run(self) -> None:
        while not self._ends.is_set():
            self._producer.produce(self._topic, b"x" * 100, partition=self._partition, on_delivery=self._delivered)
            due_s = time.monotonic() + BETWEEN_RECORDS_S
            while (left_s := due_s - time.monotonic()) > 0:
                self._producer.poll(left_s)
        self._producer.flush(FLUSH_TIMEOUT_S)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._moments_s.append(time.monotonic())
        else:
            self._failures.append(error)
