"""A client that behaves, while others do not: it writes and reads the same topic all the time, and says how it went.

It is librdkafka, in threads of its own. A node under attack must keep serving it: each record that it writes comes back
to it in order, and none takes longer than ROUND_TRIP_S_MAX. That is a hundred times what a busy machine needs, and less
than what anybody would call served: whoever freezes the node for everybody fails the test.
"""

import threading
import time
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from harness.waiting import eventually

PATIENCE_S = 30.0
ROUND_TRIP_S_MAX = 5.0


class ControlClient:
    """Round trips, one after the other, from `__enter__` to `__exit__`."""

    def __init__(self, bootstrap: str, topic: str = "control") -> None:
        self._topic = topic
        self.round_trips = 0
        self.longest_s = 0.0
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        settings = {"bootstrap.servers": bootstrap, "socket.timeout.ms": int(PATIENCE_S * 1000), "log_level": 0}
        self._producer = Producer(settings | {"linger.ms": 0, "message.timeout.ms": int(PATIENCE_S * 1000)})
        self._consumer = Consumer(settings | {"group.id": "control", "enable.auto.commit": False})
        admin = AdminClient(settings)
        try:
            admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S)
        self._consumer.assign([TopicPartition(topic, 0, end)])

    def __enter__(self) -> Self:
        # The first one has the connections to make, and nobody is hostile yet.
        self._round_trip(b"first")
        self._thread.start()
        self.wait_for_round_trips(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.wait_for_round_trips(3)
                assert self.longest_s <= ROUND_TRIP_S_MAX, f"a round trip took {self.longest_s:.1f} s"
        finally:
            self._stopping.set()
            self._thread.join()
            self._consumer.close()

    def wait_for_round_trips(self, count: int) -> None:
        """Returns after so many more; fails if one fails."""
        wanted = self.round_trips + count
        eventually(lambda: self._failure or self.round_trips >= wanted, timeout_s=2 * PATIENCE_S)
        if self._failure is not None:
            raise AssertionError("the control client was not served") from self._failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                self._round_trip(b"%d" % self.round_trips)
                self.longest_s = max(self.longest_s, time.monotonic() - began)
                self.round_trips += 1
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread of the test
            self._failure = error

    def _round_trip(self, value: bytes) -> None:
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        self._producer.produce(self._topic, value, partition=0, on_delivery=delivered)
        if self._producer.flush(PATIENCE_S) or failures:
            raise AssertionError(f"not written: {failures}")
        message = self._consumer.poll(PATIENCE_S)
        if message is None:
            raise AssertionError("not read")
        if message.error() is not None:
            raise KafkaException(message.error())
        if message.value() != value:
            raise AssertionError(f"wrote {value!r}, read {message.value()!r}")
