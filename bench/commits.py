"""A load generator where no tool has one: transactions of one record, one after the other, with librdkafka.

    python bench/commits.py BOOTSTRAP TOPIC PARTITIONS TRANSACTIONS

Prints how long each took from its begin to the answer to its commit, in microseconds, one to a line; the first hundred,
during which connections are made, are not counted.
"""

import sys
import time
import uuid

from confluent_kafka import Producer

UNCOUNTED = 100
TIMEOUT_S = 60.0


def main(bootstrap: str, topic: str, partitions: int, transactions: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"bench-{uuid.uuid4()}", "linger.ms": 0})
    producer.init_transactions(TIMEOUT_S)
    for number in range(UNCOUNTED + transactions):
        began = time.perf_counter()
        producer.begin_transaction()
        producer.produce(topic, b"x" * 100, partition=number % partitions)
        producer.commit_transaction(TIMEOUT_S)
        if number >= UNCOUNTED:
            print(f"{(time.perf_counter() - began) * 1e6:.0f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
