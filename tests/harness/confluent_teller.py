"""The same as java/Teller.java with librdkafka, which speaks the older protocol of transactions; see bank.py."""

import random
import select
import sys

from confluent_kafka import KafkaError, KafkaException, Producer

TOPICS = ("debits", "credits")
TIMEOUT_S = 5.0


def patiently(call, *arguments: object) -> None:  # type: ignore[no-untyped-def]
    """Repeats a call of the transactional producer while that may help."""
    while True:
        try:
            call(*arguments)
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if not error.retriable():
                raise
        else:
            return


def send(producer: Producer, transfer: str, width: int, partitions: int, chance: random.Random) -> None:
    first = chance.randrange(len(TOPICS) * partitions)
    left = 0
    for part in range(width):
        place = (first + part) % (len(TOPICS) * partitions)
        amount = -left if part == width - 1 else chance.randint(-1000, 1000)
        left += amount
        topic, partition = TOPICS[place % len(TOPICS)], place // len(TOPICS)
        producer.produce(topic, f"{transfer} {width} {amount}", f"account-{place}", partition)


def say(*words: object) -> None:
    print(*words, flush=True)


def main(bootstrap: str, name: str, run: str, width: int, partitions: int) -> int:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "socket.timeout.ms": 5000,
            "transaction.timeout.ms": 60_000,
            "reconnect.backoff.max.ms": 200,
            # The broker is away on purpose.
            "log_level": 0,
        }
    )
    chance = random.Random(run)
    patiently(producer.init_transactions, TIMEOUT_S)
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        transfer = f"{name}/{run}/{number}"
        is_taken_back = number % 7 == 3
        number += 1
        producer.begin_transaction()
        try:
            send(producer, transfer, width, partitions, chance)
            if is_taken_back:
                producer.flush(TIMEOUT_S)
                patiently(producer.abort_transaction, TIMEOUT_S)
            else:
                patiently(producer.commit_transaction, TIMEOUT_S)
            say("aborted" if is_taken_back else "committed", transfer)
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                # Fenced or lost for good: the one who started this program starts another.
                say("failed", failure)
                return 3
            patiently(producer.abort_transaction, TIMEOUT_S)
            say("aborted", transfer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
