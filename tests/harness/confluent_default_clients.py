"""The same as java/DefaultClients.java with librdkafka; see default_clients.py."""

import select
import sys
import threading

from confluent_kafka import Consumer, KafkaError, Message, Producer

INTERVAL_S = 0.01


def say(*words: object) -> None:
    print(*words, flush=True)


class DefaultClients:
    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._acknowledged = 0
        self._has_sent_all = False

    def run(self) -> None:
        reading = threading.Thread(target=self._read)
        reading.start()
        producer = Producer({"bootstrap.servers": self._bootstrap})
        number = 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            producer.produce(self._topic, b"%d" % number, on_delivery=self._delivered)
            number += 1
            producer.poll(INTERVAL_S)
        producer.flush()
        self._has_sent_all = True
        reading.join()

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._acknowledged += 1
            say("acknowledged", self._acknowledged)
        else:
            say("error sending:", error)

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": f"{self._topic}-readers",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([self._topic])
        count = 0
        while not self._has_sent_all or count < self._acknowledged:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                say("error reading:", error)
                continue
            count += 1
            say("read", count)
        consumer.close()


if __name__ == "__main__":
    DefaultClients(*sys.argv[1:]).run()
