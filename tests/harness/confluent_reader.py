"""The same as java/Reader.java with librdkafka: a member of a group that reads and commits; see group_load.py."""

import select
import sys
import time
from itertools import pairwise

from confluent_kafka import Consumer, KafkaException, TopicPartition

BATCH = 1000


def say(what: str, partition: int, first: int = 0, following: int = 0) -> None:
    print(what, time.monotonic_ns(), partition, first, following, flush=True)


class Reader:
    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._topic = topic
        # Read of each partition and not told yet; and where a commit was refused.
        self._offsets: dict[int, list[int]] = {}
        self._refused: dict[int, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range",
                # A few commits a second, rather than hundreds of which each has a line.
                "fetch.min.bytes": 1_000_000,
                "fetch.wait.max.ms": 200,
                "socket.timeout.ms": 5000,
                "reconnect.backoff.max.ms": 200,
                # Brokers are away on purpose.
                "log_level": 0,
            }
        )
        self._consumer.subscribe(
            [topic],
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )

    def run(self) -> None:
        while not select.select([sys.stdin], [], [], 0)[0]:
            if self._poll(0.2):
                for _ in range(BATCH):
                    if not self._poll(0):
                        break
            self._commit()
        self._consumer.close()

    def _poll(self, timeout_s: float) -> bool:
        message = self._consumer.poll(timeout_s)
        if message is None:
            return False
        partition, offset = message.partition(), message.offset()
        if message.error() is None and partition is not None and offset is not None:
            self._offsets.setdefault(partition, []).append(offset)
        return True

    def _assigned(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._refused = {}
        for one in partitions:
            say("assigned", one.partition)

    def _revoked(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        for one in partitions:
            say("revoked", one.partition)

    def _lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._tell()
        for one in partitions:
            say("revoked", one.partition)

    def _tell(self) -> dict[int, int]:
        """Tells what was read; where each partition goes on."""
        read, self._offsets = self._offsets, {}
        for partition, found in read.items():
            for one, following in pairwise(found):
                if following != one + 1:
                    say("gap", partition, one + 1, following)
            say("read", partition, found[0], found[-1] + 1)
        return {partition: found[-1] + 1 for partition, found in read.items()}

    def _commit(self) -> None:
        due, self._refused = self._refused | self._tell(), {}
        for partition, following in due.items():
            self._commit_one(partition, following)

    def _commit_one(self, partition: int, following: int) -> None:
        say("committing", partition, following, following)
        try:
            asked = [TopicPartition(self._topic, partition, following)]
            committed = self._consumer.commit(offsets=asked, asynchronous=False)
        except KafkaException as failure:
            # Another member has the partition, or nobody coordinates now.
            committed = None
            print(f"refused {failure}", flush=True)
        if committed and all(one.error is None for one in committed):
            say("committed", partition, following, following)
        else:
            self._refused[partition] = following


if __name__ == "__main__":
    Reader(*sys.argv[1:]).run()
